/* exactformer: construct, without training, a transformer that maps every input
 * sequence of a data set exactly to its output sequence. Umbrella header. */
#ifndef EXACTFORMER_EXACTFORMER_H
#define EXACTFORMER_EXACTFORMER_H

#include <exactformer/build.h>
#include <exactformer/certify.h>
#include <exactformer/dataset.h>
#include <exactformer/diagnose.h>
#include <exactformer/generate.h>
#include <exactformer/inspect.h>
#include <exactformer/model.h>
#include <exactformer/peers.h>
#include <exactformer/run.h>
#include <exactformer/status.h>
#include <exactformer/trace.h>
#include <exactformer/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The library's version, e.g. "0.1.0". */
XF_API const char *xf_version(void);

#ifdef __cplusplus
}
#endif
#endif
