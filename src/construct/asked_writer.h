/* A writer that was asked for, before anything is searched: may it serve these data at all? */
#ifndef XFI_CONSTRUCT_ASKED_WRITER_H
#define XFI_CONSTRUCT_ASKED_WRITER_H

#include "construct/writers.h"

/* Does the writer of the options, if there is one, fit the targets, the dimension, and the least
 * number of bits that cells for all targets can have? If not, `why` [160] says what stands in the
 * way; if so, it may still fail. */
int xfi_asked_writer_fits(const xfi_writers *choices, const xfi_problem *problem, char why[160]);

#endif
