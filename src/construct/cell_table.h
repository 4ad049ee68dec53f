/* Which sequence holds which cell: a hash table that is emptied in O(1). */
#ifndef XFI_CONSTRUCT_CELL_TABLE_H
#define XFI_CONSTRUCT_CELL_TABLE_H

#include <stdint.h>

typedef struct xfi_cell_table {
    int64_t mask; /* size - 1, a power of two */
    int64_t epoch;
    int64_t *stamp; /* [size], owned */
    int64_t *cell;
    int64_t *owner;
} xfi_cell_table;

/* Room for n entries. Returns 0 if memory is short. */
int xfi_cell_table_init(xfi_cell_table *table, int64_t n);
void xfi_cell_table_clear(xfi_cell_table *table);

/* Forget all entries. */
void xfi_cell_table_reset(xfi_cell_table *table);

/* Enter the cell for its owner; returns the owner that it has now (another one if it was
 * taken). */
int64_t xfi_cell_table_claim(xfi_cell_table *table, int64_t cell, int64_t owner);

#endif
