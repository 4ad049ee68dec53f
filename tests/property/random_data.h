/* Random small data sets, easy ones and nasty ones, from recipes.
 *
 * A family of data sets says which styles of inputs and targets it draws from and how large
 * it gets; the rest (sizes, sharing, the dimension) is random. The same random numbers give
 * the same data. */
#ifndef XFT_PROPERTY_RANDOM_DATA_H
#define XFT_PROPERTY_RANDOM_DATA_H

#include "base/rng.h"

#include <exactformer/dataset.h>
#include <exactformer/model.h>

/* Styles of inputs; a family has a set of them (bits) and draws one for each data set. */
enum {
    XFT_X_GAUSSIAN = 1 << 0,
    XFT_X_UNIFORM = 1 << 1,
    XFT_X_SINGLE = 1 << 2,      /* Gaussian, rounded to binary32 */
    XFT_X_VOCABULARY = 1 << 3,  /* tokens shared between sequences */
    XFT_X_OFFSET = 1 << 4,      /* Gaussian + 1000 */
    XFT_X_TINY = 1 << 5,        /* scale 1e-100 (binary32: 1e-30) */
    XFT_X_HUGE = 1 << 6,        /* scale 1e100 (binary32: 1e30) */
    XFT_X_CONSTANT = 1 << 7,    /* some coordinates constant, at least one not */
    XFT_X_ANISOTROPIC = 1 << 8, /* scales 2^-20 .. 2^20 */
    XFT_X_MIXED = 1 << 9,       /* magnitudes 1e-12 .. 1e6 in every coordinate */
    XFT_X_LATTICE = 1 << 10,    /* small integers */
    XFT_X_ONE_HOT = 1 << 11,    /* multiples of unit vectors */
    XFT_X_CLOSE = 1 << 12,      /* tokens that differ by a few ulps */
    XFT_X_SUBNORMAL = 1 << 13,  /* around the smallest numbers */
    XFT_X_LARGEST = 1 << 14,    /* up to the largest numbers */
    XFT_X_BINARY = 1 << 15      /* corners of the cube */
};

/* Styles of targets. */
enum {
    XFT_Y_INTEGER = 1 << 0,  /* -64 .. 64 */
    XFT_Y_HALF = 1 << 1,     /* 11 significant bits */
    XFT_Y_SINGLE = 1 << 2,   /* 24 significant bits */
    XFT_Y_FULL = 1 << 3,     /* Gaussian, every bit */
    XFT_Y_ZEROS = 1 << 4,    /* Gaussian, half of the values exactly 0 */
    XFT_Y_ALL_ZERO = 1 << 5, /* every target is 0 (m_j = 1) */
    XFT_Y_MIXED = 1 << 6,    /* both signs, 1e-12 .. 1e6, every bit, some zeros */
    XFT_Y_RANGE = 1 << 7,    /* exponents within +-1000 (binary32: +-110) */
    XFT_Y_BEYOND = 1 << 8,   /* the whole format, subnormals and its largest numbers included */
    XFT_Y_POWERS = 1 << 9,   /* powers of two and their neighbours */
    XFT_Y_ODD = 1 << 10,     /* last bit set, few binades */
    XFT_Y_INPUTS = 1 << 11,  /* tokens of the sequence itself */
    XFT_Y_POOL = 1 << 12,    /* shared between sequences */
    XFT_Y_NEGATIVE = 1 << 13,
    XFT_Y_ZERO_COLUMN = 1 << 14, /* every bit, but one coordinate is 0 throughout */
    XFT_Y_DYADIC = 1 << 15,      /* about 35 (binary32: 14) bits between top and bottom */
    XFT_Y_SMALL = 1 << 16,       /* subnormals and nothing else but zeros */
    XFT_Y_LARGE = 1 << 17        /* exponents from 1000 on (binary32: from 110) */
};

/* How many targets a sequence has. */
typedef enum xft_counts {
    XFT_ANY_COUNT, /* one of the others, for each data set */
    XFT_ONE_EACH,
    XFT_FEW_EACH, /* 1 .. 3 */
    XFT_ALL,      /* m_j = n_j */
    XFT_UP_TO_ALL /* 1 .. n_j */
} xft_counts;

typedef struct xft_family {
    const char *name;
    const char *kind; /* of xf_generate; NULL: from the styles */
    int inputs;       /* set of XFT_X_ */
    int targets;      /* set of XFT_Y_ */
    xft_counts counts;
    int d_min, d_max;
    int n_max;           /* tokens a sequence; 0: 50 */
    int N_min, N_max;    /* sequences; 0: 1 and 40 */
    double budget;       /* work for a data set, see xft_random_data; 0: random */
    double most_refused; /* share of the data sets that may be refused; 0: none */
    int always_refused;  /* nonzero: all with 53 bits of targets and more on coordinate 0 */
    int on_grid; /* nonzero: half a block a target is enough, with extra blocks if need be */
    int regular; /* nonzero: without extra blocks (else: one, if not on the grid) */
} xft_family;

/* Draw a data set that passes xf_dataset_check and whose targets are numbers of the format.
 * Work for the engines grows with T (M + 4) d, which stays below `budget`. Aborts the test
 * if memory runs out. */
void xft_random_data(xf_dataset *out, const xft_family *family, xf_dtype dtype, double budget,
                     xfi_rng *rng);

#endif
