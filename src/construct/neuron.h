/* Setting single neurons of a writer: they read one coordinate, relu(weight x_k + bias),
 * and the column says what they add. */
#ifndef XFI_CONSTRUCT_NEURON_H
#define XFI_CONSTRUCT_NEURON_H

#include <exactformer/model.h>

/* The first unused neuron of a block (all weights zero), or -1. */
int xfi_neuron_free(const xf_model *model, int64_t block);

/* Set the input of a neuron. */
void xfi_neuron_set(xf_model *model, int64_t block, int neuron, int k, double weight, double bias);

/* Take a free neuron and set its input; returns it. There must be one. */
int xfi_neuron_add(xf_model *model, int64_t block, int k, double weight, double bias);

/* Entry of the neuron's output column. */
void xfi_neuron_out(xf_model *model, int64_t block, int neuron, int k, double value);

#endif
