/* How many threads. */
#ifndef XFI_BASE_THREADS_H
#define XFI_BASE_THREADS_H

/* `asked`, or as many as there are cores (OMP_NUM_THREADS) if it is not positive. */
int xfi_threads(int asked);

#endif
