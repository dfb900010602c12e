/* markup.h - texts that were written to a file: whether they are well-formed XML, or a graph that
 * Graphviz can read. */
#ifndef TESTS_CORE_MARKUP_H
#define TESTS_CORE_MARKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* All that was written to a file; closes it. Fails the test if it cannot be read. The caller frees
 * the text. */
char *file_text(FILE *file);

/* One element with attributes, nested elements, text, the five entities of XML and numbers of
 * characters; may begin with a declaration. The text must be UTF-8 without control characters. */
bool markup_is_xml(const char *text);

/* Quotes end, braces and HTML-like labels balance, and these are well-formed inside. */
bool markup_is_dot(const char *text);

/* How often a text contains another. */
size_t markup_count(const char *text, const char *part);

#endif
