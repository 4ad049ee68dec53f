/* gnuplot scripts for a diagnosis. Zeros have no place on logarithmic axes and are left out. */
#include "diagnose_figures.h"

#include <math.h>

enum { MOST_DRAWN = 8 }; /* stages in the picture of epochs; more would be illegible */

static const double THINNING = 1.01; /* epochs are drawn no closer than that */

static const char *const colours[MOST_DRAWN] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                "#56b4e9", "#e69f00", "#7f7f7f", "#000000"};

/* The curve of a stage, loss or J. */
static int write_curve(FILE *script, const xf_training_log *log, const xf_log_stage *stage,
                       int objective) {
    double next = 0.0;
    int n = 0;
    for (int64_t i = stage->first; i < stage->first + stage->count; i++) {
        const xf_train_record *r = &log->records[i];
        double value = objective ? r->objective : r->loss;
        double epoch = (double)(r->epoch > 0 ? r->epoch : 1);
        int last = r->epoch == stage->last.epoch;
        if (r->start != stage->start || !(value > 0.0) || (epoch < next && !last))
            continue;
        fprintf(script, "%.17g %.17g\n", epoch, value);
        next = epoch * THINNING;
        n++;
    }
    return n;
}

static void begin(FILE *script, const char *x, const char *y) {
    fprintf(script,
            "set logscale xy\nset format xy '10^{%%T}'\nset termoption enhanced\nset grid lc rgb "
            "'#dddddd'\nset border 3\nset tics nomirror\nset key outside right noenhanced\n"
            "set xlabel '%s' noenhanced\nset ylabel '%s' noenhanced\n",
            x, y);
}

/* Named blocks of data $L0, $J0, ...; drawn[i] tells which hold something. */
static int write_curves(FILE *script, const cli_diagnosed *d, int has[MOST_DRAWN][2]) {
    int n = d->log->n_stages < MOST_DRAWN ? d->log->n_stages : MOST_DRAWN, total = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 2; k++) {
            fprintf(script, "$%c%d << EOD\n", k ? 'J' : 'L', i);
            has[i][k] = write_curve(script, d->log, &d->log->stages[i], k) > 0;
            fprintf(script, "EOD\n");
            total += has[i][k];
        }
    return total > 0 ? n : 0;
}

void cli_draw_epochs(FILE *script, const void *diagnosed) {
    const cli_diagnosed *d = diagnosed;
    int has[MOST_DRAWN][2] = {{0}};
    begin(script, "epoch", "loss, J");
    int n = write_curves(script, d, has);
    const char *separator = "plot ";
    for (int i = 0; i < n; i++) {
        double eps = d->log->stages[i].weight_decay, threshold = d->diagnosis->stages[i].threshold;
        if (has[i][0]) {
            fprintf(script, "%s$L%d with lines lw 1.5 lc rgb '%s' title 'loss, %g'", separator, i,
                    colours[i], eps);
            separator = ", \\\n  ";
        }
        if (has[i][1]) {
            fprintf(script, "%s$J%d with lines lw 1 dt 3 lc rgb '%s' title 'J, %g'", separator, i,
                    colours[i], eps);
            separator = ", \\\n  ";
        }
        if (threshold > 0.0 && (has[i][0] || has[i][1]))
            fprintf(script, "%s%.17g with lines lw 1 dt 2 lc rgb '%s' title 'threshold, %g'",
                    separator, threshold, colours[i], eps);
    }
    fprintf(script, "\n");
    if (n == 0)
        fprintf(script,
                "set xrange [1:10]\nset yrange [1:10]\nplot 1/0 title 'all losses are 0'\n");
}

/* eps, least loss, least J of the stages that can be drawn. */
static int write_points(FILE *script, const xf_training_log *log) {
    int n = 0;
    fprintf(script, "$S << EOD\n");
    for (int i = 0; i < log->n_stages; i++) {
        const xf_log_stage *stage = &log->stages[i];
        if (!(stage->weight_decay > 0.0) || !(stage->min_objective > 0.0))
            continue;
        fprintf(script, "%.17g ", stage->weight_decay);
        if (stage->min_loss > 0.0)
            fprintf(script, "%.17g", stage->min_loss);
        else
            fprintf(script, "NaN");
        fprintf(script, " %.17g\n", stage->min_objective);
        n++;
    }
    fprintf(script, "EOD\n");
    return n;
}

/* The value of the fitted line of J at the smallest eps, extended with slope 1. */
static double linear_factor(const xf_training_log *log) {
    double eps = INFINITY, factor = NAN;
    for (int i = 0; i < log->n_stages; i++) {
        const xf_log_stage *stage = &log->stages[i];
        if (stage->weight_decay > 0.0 && stage->weight_decay < eps && stage->min_objective > 0.0) {
            eps = stage->weight_decay;
            factor = stage->min_objective / eps;
        }
    }
    return factor;
}

static void write_fit(FILE *script, const xf_slope *fit, const char *colour, const char *name) {
    if (fit->n >= 2 && isfinite(fit->slope))
        fprintf(script,
                ", \\\n  exp(%.17g)*x**(%.17g) with lines lw 1 dt 3 lc rgb '%s' title 'slope %.3g "
                "(%s)'",
                fit->intercept, fit->slope, colour, fit->slope, name);
}

void cli_draw_scaling(FILE *script, const void *diagnosed) {
    const cli_diagnosed *d = diagnosed;
    begin(script, "weight decay", "least loss, least J");
    fprintf(script, "set key top left inside\n");
    int n = write_points(script, d->log);
    if (n == 0) {
        fprintf(script, "set xrange [1:10]\nset yrange [1:10]\nplot 1/0 title 'nothing to draw'\n");
        return;
    }
    fprintf(script, "set offsets graph 0.1, graph 0.1, graph 0.1, graph 0.1\n");
    fprintf(script, "plot $S using 1:2 with points pt 6 ps 1.2 lw 2 lc rgb '#0072b2' title 'least "
                    "loss', \\\n  $S using 1:3 with points pt 4 ps 1.2 lw 2 lc rgb '#d55e00' title "
                    "'least J'");
    write_fit(script, &d->diagnosis->loss, "#0072b2", "loss");
    write_fit(script, &d->diagnosis->objective, "#d55e00", "J");
    double factor = linear_factor(d->log);
    if (n > 1 && isfinite(factor))
        fprintf(script, ", \\\n  %.17g*x with lines lw 1 lc rgb '#999999' title 'linear'", factor);
    if (d->diagnosis->comparable && d->diagnosis->norm2 > 0.0)
        fprintf(script, ", \\\n  %.17g*x with lines lw 1.5 dt 2 lc rgb '#000000' title 'threshold'",
                d->diagnosis->norm2 / 2);
    fprintf(script, "\n");
}
