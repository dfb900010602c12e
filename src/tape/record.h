/* record.h - shared by the files that append to a tape. */
#ifndef REMAT_TAPE_RECORD_H
#define REMAT_TAPE_RECORD_H

#include "tape/tape.h"

/* Index of a shape in the tape's list, appended if it is new; false: out of memory. */
bool remat_record_shape(remat_tape *tape, const remat_shape *shape, uint32_t *index);

/* Copies a string; false: out of memory. */
bool remat_record_text(remat_tape *tape, const char *string, uint32_t *offset);

remat_status remat_record_out_of_memory(remat_tape *tape, const char *what);

#endif
