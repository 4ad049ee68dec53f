/* C-hard: the mean of the tokens with the largest logit, or of some of the candidates. */
#include "certify/cert_attention.h"

#include "certify/cert_logit.h"
#include "certify/cert_mean.h"

void xfi_attend_hard(xfi_mix *mix, int64_t i, int64_t n, xfi_log *log) {
    int64_t count = 0, ties = 0;
    xfi_logit_note_subnormals(mix, log);
    xfi_logit_gaps(mix, i, n, log);
    for (int64_t l = 0; l < n; l++) {
        if (mix->gap_low[l] > 0.0) {
            double bound = (mix->gap_high[l] - mix->gap_low[l]) / 2;
            xfi_log_decision(log, mix->gap_low[l], mix->gap_low[l] + 2 * bound);
            continue;
        }
        /* An exact gap below 0 cannot be: best has the largest logit at the centres, up to
         * rounding. */
        mix->chosen[count++] = l;
        ties += mix->gap_low[l] == 0.0 && mix->gap_high[l] == 0.0;
    }
    if (count == 1 || ties == count) {
        xfi_mean_of(mix, mix->chosen, count, log);
        return;
    }
    xfi_log_doubt(log, "two logits are too close to tell which is the larger");
    xfi_mean_of_some(mix, count, log);
}
