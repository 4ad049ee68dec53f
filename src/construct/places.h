/* Where leaders go, and the line they are projected on at the end.
 *
 * The first leader of sequence j goes to the paper's region P, the diagonal point P_j (1, ..., 1)
 * with P_j = 4h + 4h (j+1)/(N+1). The others go to the sphere of radius R = 4h sqrt(d) inside the
 * negative orthant, on an arc through the diagonal: z(theta) = R (-cos(theta) 1/sqrt(d) +
 * sin(theta) q),   q = (1..1, -1..-1, [0]) normalised The line has the slanted direction wl =
 * -cos(phi) 1/sqrt(d) + sin(phi) q, on which the arc is monotone: <wl, z> = R cos(theta - phi).
 * docs/published.md, P-places. Numeric class: approximate; the collapse and the line are certified
 * from the weights. */
#ifndef XFI_CONSTRUCT_PLACES_H
#define XFI_CONSTRUCT_PLACES_H

#include <exactformer/dataset.h>

typedef struct xfi_places {
    const xf_dataset *data;
    double h;      /* in the units wanted */
    double phi;    /* slant of the line */
    double widest; /* largest angle Theta on the arc */
    int64_t n_arc; /* M - N places on the arc */
    int64_t *rank; /* [M] by row of y: place on the arc, rows y_offsets[j] unused; owned */
} xfi_places;

/* Lay out the places for the data's N and m_j. Returns 0 if memory is short. */
int xfi_places_init(xfi_places *out, const xf_dataset *data, double h);
void xfi_places_clear(xfi_places *places);

/* The place of leader i of sequence j (0: on the diagonal), out [d]. */
void xfi_places_at(double *out, const xfi_places *places, int64_t j, int64_t i);

/* The direction of the line, out [d], entries multiples of 2^-20. */
void xfi_places_line(double *out, const xfi_places *places);

/* Leaders have to be this many binary digits finer than h to keep apart: on the sphere
 * within a sequence, and on the line. */
int xfi_places_bits(const xfi_places *places);

#endif
