#include "construct/separation_tree.h"
xf_status xfi_separation_tree(xfi_separation *out, const xfi_problem *problem, xf_error *error) {
    (void)problem; (void)error;
    *out = (xfi_separation){0};
    return XF_OK;
}
