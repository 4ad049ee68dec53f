/* The models that are spoiled: small ones of every construction, writer and precision. */
#ifndef XFT_MUTATION_SUBJECTS_H
#define XFT_MUTATION_SUBJECTS_H

#include <exactformer/dataset.h>
#include <exactformer/model.h>

/* How many there are, and the name of one. */
int xft_n_subjects(void);
const char *xft_subject_name(int i);

/* Number i, with data drawn from the seed. Returns 0 if the data were refused. */
int xft_subject_build(xf_model *model, xf_dataset *data, int i, uint64_t seed);

#endif
