/* text.h - numbers and strings as reports write them. */
#ifndef REMAT_REPORT_TEXT_H
#define REMAT_REPORT_TEXT_H

#include <stdio.h>

#include <remat/remat.h>

/* For people: "512 B", "1.50 MB"; returns text. */
const char *remat_bytes_text(size_t bytes, char text[24]);

/* The unit in which a scale up to so many bytes reads well, and its size in bytes. */
const char *remat_bytes_unit(double bytes, double *unit_bytes);

/* For people: "1.25 ms"; returns text. */
const char *remat_seconds_text(double seconds, char text[24]);

/* For machines: as %.9g, with a point whatever the locale says; returns text. */
const char *remat_number_text(double number, char text[32]);

/* The text as content of XML or of an HTML-like label of Graphviz. What is no UTF-8 or not allowed
 * in XML becomes U+FFFD. */
void remat_write_xml(FILE *out, const char *text);

/* The text as a field of a CSV file (RFC 4180), in quotes where it needs them. */
void remat_write_csv(FILE *out, const char *text);

/* The status of a report after its last line: REMAT_INVALID_ARGUMENT if anything could not be
 * written. */
remat_status remat_report_status(FILE *out);

#endif
