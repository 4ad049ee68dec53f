/* Running campaigns and reporting. */
#include "property/campaign.h"

#include "base/alloc.h"
#include "num/format.h"
#include "property/shrink.h"
#include "property/trial.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

enum { MAX_SHOWN = 5 }; /* failures that are shrunk and printed; the others are counted */

typedef struct tally {
    int64_t n;
    int64_t built;
    int64_t refused;
    int64_t failed;
    int64_t extra;      /* models with extra blocks */
    int64_t most_extra; /* in one model */
    int64_t folds;      /* models with folds */
    int64_t kinks;
    int64_t sorted;
    int64_t diamond;
    double seconds;
    double slowest;
    int64_t slowest_case;
    char refusal[160]; /* the first one */
    int64_t refused_case;
} tally;

typedef struct run {
    const xft_campaign *campaign;
    uint64_t seed;
    char directory[256];
    int n_shown;
    int verbose;
} run;

int xft_is_sanitized(void) {
    return IS_SANITIZED;
}

int xft_is_contracted(void) {
#ifdef XFT_CONTRACTED
    return 1;
#else
    return 0;
#endif
}

static const char *setting(const char *name) {
    const char *text = getenv(name);
    return text != NULL && text[0] != '\0' ? text : NULL;
}

double xft_multiplier(void) {
    const char *text = setting("XF_PROPERTY_MULTIPLIER");
    double multiplier = text != NULL ? strtod(text, NULL) : 1.0;
    return (multiplier > 0 ? multiplier : 1.0) * (IS_SANITIZED ? 0.3 : 1.0);
}

uint64_t xft_property_seed(void) {
    const char *text = setting("XF_PROPERTY_SEED");
    return text != NULL ? strtoull(text, NULL, 10) : 1;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* From the top bit of the largest to the lowest bit of all targets on coordinate 0; 0 if
 * there is but one target, which anything can write. */
static int target_bits(const xf_dataset *data) {
    int top = INT_MIN, lowest = INT_MAX;
    for (int64_t g = 0; g < data->n_targets && data->n_targets > 1; g++) {
        double y = data->y[g * data->d];
        if (y == 0.0)
            continue;
        top = ilogb(y) > top ? ilogb(y) : top;
        lowest = xfi_lowest_bit(y) < lowest ? xfi_lowest_bit(y) : lowest;
    }
    return top >= lowest ? top - lowest + 1 : 0;
}

/* Displacement and the tree have lanes behind them; argmax is a front end of its own. */
static int can_pair(const char *front, const char *writer) {
    if (front == NULL || writer == NULL)
        return 1;
    int lanes = strcmp(writer, "grid") == 0 || strcmp(writer, "sorted") == 0;
    int far = strcmp(front, "displacement") == 0 || strcmp(front, "tree") == 0;
    return lanes || (!far && strcmp(writer, "argmax") != 0);
}

/* NULL or one of the names. */
static const char *draw_name(const char *const *names, xfi_rng *rng) {
    int64_t n = 0;
    while (names[n] != NULL)
        n++;
    int64_t i = xfi_rng_below(rng, n + 1);
    return i < n ? names[i] : NULL;
}

static void draw_choices(xft_trial *trial, xfi_rng *rng) {
    do {
        trial->build.front = draw_name(xf_build_fronts(), rng);
        trial->build.writer = draw_name(xf_build_writers(), rng);
    } while (!can_pair(trial->build.front, trial->build.writer));
    trial->build.optimise = xfi_rng_below(rng, 4) == 0 ? XF_OPTIMISE_NORM : XF_OPTIMISE_DEPTH;
    trial->build.balanced = (int)xfi_rng_below(rng, 2);
    trial->may_refuse = 1;
}

/* Everything about a case follows from the seed and its number. */
static xft_trial draw_case(const run *r, int64_t i, xf_dataset *data, const xft_family **family) {
    const xft_campaign *c = r->campaign;
    xfi_rng rng;
    xfi_rng_seed(&rng, r->seed, (uint64_t)i);
    *family = &c->families[i % c->n_families];
    double budget = 100 * pow(c->choices ? 200 : 4000, xfi_rng_uniform(&rng));
    if ((*family)->budget > 0)
        budget = (*family)->budget;
    xft_random_data(data, *family, c->dtype, budget, &rng);
    xft_trial trial = {.may_refuse = (*family)->most_refused > 0,
                       .must_refuse = (*family)->always_refused && target_bits(data) >= 53,
                       .regular = (*family)->regular,
                       .on_grid = (*family)->on_grid};
    trial.n_orders = xfi_rng_below(&rng, 12) == 0 ? 60 : 20;
    trial.order_seed = xfi_rng_bits(&rng);
    trial.rebuild = xfi_rng_below(&rng, 3) == 0;
    trial.directory = xfi_rng_below(&rng, 8) == 0 ? r->directory : NULL;
    trial.build.dtype = c->dtype;
    trial.build.seed = (uint64_t)xfi_rng_below(&rng, 4);
    if (xfi_rng_below(&rng, 4) == 0) {
        trial.build.attention = XF_SOFTMAX;
        trial.build.tau = ldexp(1.0, (int)xfi_rng_below(&rng, 9) - 4);
    }
    if (c->choices)
        draw_choices(&trial, &rng);
    return trial;
}

typedef struct failure {
    xft_trial trial;
    xft_stage stage;
} failure;

static int still_fails(void *context, const xf_dataset *data) {
    const failure *f = context;
    xft_verdict verdict;
    xft_trial_run(&verdict, &f->trial, data);
    return verdict.stage == f->stage;
}

static void print_build_command(const xft_trial *trial, const char *path) {
    printf("    exactformer build %s -o m.safetensors --dtype %s --seed %llu", path,
           trial->build.dtype == XF_F32 ? "f32" : "f64", (unsigned long long)trial->build.seed);
    if (trial->build.attention == XF_SOFTMAX)
        printf(" --attention softmax --tau %.17g", trial->build.tau);
    if (trial->build.front != NULL)
        printf(" --front %s", trial->build.front);
    if (trial->build.writer != NULL)
        printf(" --writer %s", trial->build.writer);
    if (trial->build.optimise == XF_OPTIMISE_NORM)
        printf(" --optimise norm");
    if (trial->build.balanced)
        printf(" --norm balanced");
    printf("\n");
}

/* Shrink, save, and print what shows it again. */
static void show_failure(run *r, int64_t i, const xft_family *family, const xft_trial *trial,
                         const xft_verdict *verdict, xf_dataset *data) {
    printf("\nFAILURE in case %lld (%s): %s\n", (long long)i, family->name, verdict->text);
    if (r->n_shown++ >= MAX_SHOWN) {
        printf("  (not shrunk: there are enough of them)\n");
        return;
    }
    failure f = {.trial = *trial, .stage = verdict->stage};
    int refusal = verdict->stage == XFT_BAD_REFUSAL;
    xft_shrink how = {
        .fails = still_fails, .context = &f, .keep_coordinates = refusal, .keep_values = refusal};
    int64_t tried = xft_shrink_data(data, &how);
    xft_verdict again;
    xft_trial_run(&again, trial, data);
    char path[XFT_PATH_SIZE];
    const char *place = setting("TMPDIR");
    snprintf(path, sizeof path, "%s/%s-%llu-%lld.jsonl", place != NULL ? place : "/tmp",
             program_invocation_short_name, (unsigned long long)r->seed, (long long)i);
    xf_error error = {0};
    if (xf_dataset_save(data, path, &error) != XF_OK)
        printf("  cannot save the data set: %s\n", error.message);
    printf("  shrunk in %lld trials to N = %lld, T = %lld, M = %lld, d = %lld: %s\n  %s\n",
           (long long)tried, (long long)data->n_sequences, (long long)data->n_tokens,
           (long long)data->n_targets, (long long)data->d, path, again.text);
    printf("  to see it again:\n");
    print_build_command(trial, path);
    printf("    XF_PROPERTY_SEED=%llu XF_PROPERTY_CASE=%lld %s\n", (unsigned long long)r->seed,
           (long long)i, program_invocation_name);
    fflush(stdout);
}

static void count(tally *t, const xft_verdict *v, double seconds, int64_t i) {
    t->n++;
    t->seconds += seconds;
    if (seconds > t->slowest) {
        t->slowest = seconds;
        t->slowest_case = i;
    }
    if (v->stage == XFT_REFUSED) {
        if (t->refused++ == 0) {
            snprintf(t->refusal, sizeof t->refusal, "%.150s", v->text);
            t->refused_case = i;
        }
        return;
    }
    if (xft_is_failure(v)) {
        t->failed++;
        return;
    }
    t->built++;
    int sorted = strstr(v->report.writer, "sorted") != NULL;
    t->extra += v->report.extra_blocks > sorted;
    t->most_extra = v->report.extra_blocks > t->most_extra ? v->report.extra_blocks : t->most_extra;
    t->folds += v->report.n_folds > 0;
    t->kinks += strcmp(v->report.front, "kinks") == 0;
    t->sorted += sorted;
    t->diamond += strncmp(v->report.writer, "diamond", 7) == 0;
}

static void run_case(run *r, int64_t i, tally *tallies) {
    xf_dataset data;
    const xft_family *family = NULL;
    xft_trial trial = draw_case(r, i, &data, &family);
    xft_verdict verdict;
    double start = now();
    xft_trial_run(&verdict, &trial, &data);
    count(&tallies[i % r->campaign->n_families], &verdict, now() - start, i);
    if (r->verbose)
        printf("case %lld (%s): N = %lld, T = %lld, M = %lld, d = %lld: %s; %lld blocks (%lld "
               "extra), %s, %s, margin %g; %s\n",
               (long long)i, family->name, (long long)data.n_sequences, (long long)data.n_tokens,
               (long long)data.n_targets, (long long)data.d,
               verdict.stage == XFT_EXACT     ? "exact"
               : verdict.stage == XFT_REFUSED ? "refused"
                                              : "FAILED",
               (long long)verdict.n_blocks, (long long)verdict.report.extra_blocks,
               verdict.report.front, verdict.report.writer, verdict.report.margin, verdict.text);
    if (xft_is_failure(&verdict))
        show_failure(r, i, family, &trial, &verdict, &data);
    xf_dataset_clear(&data);
}

static void print_tally(const char *name, const tally *t) {
    printf("%-22s %6lld %6lld %7lld %6lld %6lld %7lld %5lld %5lld %5lld %4lld %8.2f %7.2f\n", name,
           (long long)t->n, (long long)t->built, (long long)t->refused, (long long)t->failed,
           (long long)t->sorted, (long long)t->diamond, (long long)t->kinks, (long long)t->folds,
           (long long)t->extra, (long long)t->most_extra, t->seconds, t->slowest);
}

/* Returns how many families were refused too often; a few cases may always be unlucky. */
static int judge(const xft_campaign *c, const tally *tallies, int all_cases) {
    int bad = 0;
    tally all = {0};
    printf("%-22s %6s %6s %7s %6s %6s %7s %5s %5s %5s %4s %8s %7s\n", "family", "cases", "built",
           "refused", "failed", "sorted", "diamond", "kinks", "folds", "extra", "most", "seconds",
           "slowest");
    for (int f = 0; f < c->n_families; f++) {
        const tally *t = &tallies[f];
        const xft_family *family = &c->families[f];
        print_tally(family->name, t);
        if (t->refused > 0)
            printf("    case %lld: %s\n", (long long)t->refused_case, t->refusal);
        double limit = family->most_refused * (double)t->n;
        if (all_cases && !family->always_refused && (double)t->refused > limit + 2 * sqrt(limit)) {
            printf("    TOO MANY REFUSALS: allowed are %.3g %%\n", 100 * family->most_refused);
            bad++;
        }
        all.n += t->n;
        all.built += t->built;
        all.refused += t->refused;
        all.failed += t->failed;
        all.sorted += t->sorted;
        all.diamond += t->diamond;
        all.kinks += t->kinks;
        all.folds += t->folds;
        all.extra += t->extra;
        all.most_extra = t->most_extra > all.most_extra ? t->most_extra : all.most_extra;
        all.seconds += t->seconds;
        all.slowest = fmax(t->slowest, all.slowest);
    }
    print_tally("all", &all);
    fflush(stdout);
    return bad + (int)all.failed;
}

static int make_directory(run *r) {
    const char *place = setting("TMPDIR");
    snprintf(r->directory, sizeof r->directory, "%s/exactformer-property-XXXXXX",
             place != NULL ? place : "/tmp");
    return mkdtemp(r->directory) != NULL;
}

int xft_campaign_run(const xft_campaign *campaign) {
    run r = {.campaign = campaign, .seed = xft_property_seed()};
    int64_t n = (int64_t)ceil((double)campaign->n_cases * xft_multiplier());
    const char *only = setting("XF_PROPERTY_CASE");
    tally *tallies = xfi_calloc(campaign->n_families, sizeof *tallies);
    if (tallies == NULL || !make_directory(&r))
        abort();
    r.verbose = only != NULL || setting("XF_PROPERTY_VERBOSE") != NULL;
    int64_t first = only != NULL ? strtoll(only, NULL, 10) : 0, last = only != NULL ? first + 1 : n;
    for (int64_t i = first; i < last; i++)
        run_case(&r, i, tallies);
    rmdir(r.directory);
    int bad = judge(campaign, tallies, only == NULL);
    xfi_free(tallies);
    return bad;
}
