/* The version, from the file VERSION by way of the build. */
#include <exactformer/exactformer.h>

const char *xf_version(void) {
    return XF_VERSION;
}
