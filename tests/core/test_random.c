/* The generator: known answers, and streams that differ. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"

/* Known answers of the Random123 distribution for philox4x32-10. */
static void test_known_answers(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } rows[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t out[4];
        remat_philox4x32(rows[i].counter, rows[i].key, out);
        assert_memory_equal(out, rows[i].out, sizeof out);
    }
}

/* Every part of the key and the block number matter, and none stands for another. */
static void test_streams_differ(void **state)
{
    (void)state;
    enum { SIDE = 4, BLOCKS = SIDE * SIDE * SIDE * SIDE };
    uint32_t words[BLOCKS][4];
    for (unsigned i = 0; i < BLOCKS; i++) {
        remat_random_key key = {i % SIDE, i / SIDE % SIDE, i / (SIDE * SIDE) % SIDE};
        remat_random_block(&key, i / (SIDE * SIDE * SIDE), words[i]);
        for (unsigned j = 0; j < i; j++)
            assert_memory_not_equal(words[i], words[j], sizeof words[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known_answers),
                                       cmocka_unit_test(test_streams_differ)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
