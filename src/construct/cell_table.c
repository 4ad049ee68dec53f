/* Open addressing with epochs. */
#include "construct/cell_table.h"

#include "base/alloc.h"

int xfi_cell_table_init(xfi_cell_table *table, int64_t n) {
    int64_t size = 16;
    while (size < 2 * n)
        size *= 2;
    *table = (xfi_cell_table){.mask = size - 1, .epoch = 1};
    table->stamp = xfi_calloc(size, sizeof(int64_t));
    table->cell = xfi_calloc(size, sizeof(int64_t));
    table->owner = xfi_calloc(size, sizeof(int64_t));
    if (table->stamp && table->cell && table->owner)
        return 1;
    xfi_cell_table_clear(table);
    return 0;
}

void xfi_cell_table_clear(xfi_cell_table *table) {
    xfi_free(table->stamp);
    xfi_free(table->cell);
    xfi_free(table->owner);
    *table = (xfi_cell_table){0};
}

void xfi_cell_table_reset(xfi_cell_table *table) {
    table->epoch++;
}

int64_t xfi_cell_table_claim(xfi_cell_table *table, int64_t cell, int64_t owner) {
    uint64_t hash = (uint64_t)cell * 0x9e3779b97f4a7c15u;
    int64_t i = (int64_t)(hash >> 20) & table->mask;
    while (table->stamp[i] == table->epoch) {
        if (table->cell[i] == cell)
            return table->owner[i];
        i = (i + 1) & table->mask;
    }
    table->stamp[i] = table->epoch;
    table->cell[i] = cell;
    table->owner[i] = owner;
    return owner;
}
