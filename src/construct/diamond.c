/* Planning and writing the diamond. */
#include "construct/diamond.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/neuron.h"
#include "num/double_double.h"

/* One lane while it is being planned: groups by ascending |D|; those with index low .. high are
 * unfinished. */
typedef struct diamond_lane {
    double sign;
    int64_t n;
    int64_t first; /* in cells->at: member i is first + i (upper) or first - i (lower) */
    int64_t low;
    int64_t high;
    int pending[2]; /* outer, inner: the end's group is clamped and waits to be written */
} diamond_lane;

typedef struct planner {
    xfi_diamond *out;
    const xfi_cells *cells;
    const xfi_written *written;
    const xfi_format *format;
    diamond_lane lane[2];
    double reach; /* Yt */
} planner;

void xfi_diamond_clear(xfi_diamond *diamond) {
    xfi_free(diamond->jobs);
    *diamond = (xfi_diamond){0};
}

static int64_t cost(const xfi_cell_group *group) {
    return group->low == group->high ? 1 : 2;
}

static int64_t total_cost(const xfi_cells *cells) {
    int64_t total = 0;
    for (int64_t g = 0; g < cells->n; g++)
        total += cost(&cells->at[g]);
    return total;
}

/* The longest prefix of at most half of the cost (plus a half); the lower lane. */
static int64_t balanced_prefix(const xfi_cells *cells) {
    int64_t total = total_cost(cells), used = 0, below = 0;
    while (below < cells->n - 1 && 2 * (used + cost(&cells->at[below])) <= total + 1)
        used += cost(&cells->at[below++]);
    return below;
}

static int64_t gap_below(const xfi_cells *cells, int64_t g) {
    return cells->at[g].low - cells->at[g - 1].high;
}

/* The split of the widest gap among those that keep the depth (T-diamond). */
static int64_t widest_prefix(const xfi_cells *cells) {
    int64_t total = total_cost(cells), most = (total + 3) / 4 * 2, used = 0;
    int64_t best = balanced_prefix(cells);
    for (int64_t below = 1; below < cells->n; below++) {
        used += cost(&cells->at[below - 1]);
        if (used <= most && total - used <= most &&
            gap_below(cells, below) > gap_below(cells, best))
            best = below;
    }
    return best;
}

/* The value of the target on one of the two coordinates. */
static double written_value(const xfi_written *written, int64_t target, int second) {
    if (written->y == NULL)
        return second ? written->code[target] : 0.0;
    return written->y[target * written->d + (second ? written->axes.k2 : written->axes.k1)];
}

static const xfi_cell_group *member(const planner *p, const diamond_lane *lane, int64_t i) {
    return &p->cells->at[lane->sign > 0 ? lane->first + i : lane->first - i];
}

/* Least and largest |D| of a group. */
static double near_d(const planner *p, const diamond_lane *lane, int64_t i) {
    const xfi_cell_group *group = member(p, lane, i);
    return lane->sign > 0 ? (double)group->low - p->out->a : p->out->a - (double)group->high;
}

static double far_d(const planner *p, const diamond_lane *lane, int64_t i) {
    const xfi_cell_group *group = member(p, lane, i);
    return lane->sign > 0 ? (double)group->high - p->out->a : p->out->a - (double)group->low;
}

static double at_end(const xfi_diamond *diamond, int inner, double d) {
    return inner ? diamond->beta - diamond->epsilon * d : diamond->alpha + diamond->epsilon * d;
}

static int exact_difference(double a, double b, const xfi_format *format) {
    xfi_dd sum = xfi_two_sum(a, -b);
    return sum.lo == 0.0 && xfi_representable(format, sum.hi);
}

/* rep(y_k1 - s(alpha + eps c)) and rep(y_k2 - s(beta - eps c)). */
static int target_fits(const planner *p, const xfi_job *job) {
    int64_t target = p->cells->at[job->group].target;
    for (int second = 0; second < 2; second++) {
        double code = job->sign * at_end(p->out, second, job->code);
        if (!exact_difference(written_value(p->written, target, second), code, p->format))
            return 0;
    }
    return 1;
}

/* The threshold for group i at an end, above everything of the lane that is unfinished. */
static int find_threshold(const planner *p, const diamond_lane *lane, int64_t i, xfi_job *job) {
    double floor_value = p->reach;
    int64_t other = job->inner ? i + 1 : i - 1;
    if (other >= lane->low && other <= lane->high)
        floor_value =
            fmax(floor_value, at_end(p->out, job->inner,
                                     job->inner ? near_d(p, lane, other) : far_d(p, lane, other)));
    double f = at_end(p->out, job->inner, job->code);
    if (!(f > floor_value))
        return 0;
    job->k = xfi_exponent(f - floor_value);
    job->theta = f - ldexp(1.0, job->k);
    return job->theta >= floor_value && job->k >= p->format->emin + 2 &&
           job->k <= p->format->emax - 2;
}

/* What the outer or inner end of a lane does next with group i. */
static int next_job(const planner *p, diamond_lane *lane, int inner, int64_t i, xfi_job *job) {
    int multi = cost(member(p, lane, i)) == 2;
    *job = (xfi_job){.kind = multi && !lane->pending[inner] ? XFI_JOB_CLAMP : XFI_JOB_WRITE,
                     .group = member(p, lane, i) - p->cells->at,
                     .sign = lane->sign,
                     .inner = inner,
                     .code = inner ? far_d(p, lane, i) : near_d(p, lane, i)};
    if (job->kind == XFI_JOB_CLAMP)
        return 1;
    return find_threshold(p, lane, i, job) && target_fits(p, job);
}

/* Jobs of one lane in one block. Both ends see the lane as it was at the block's start. */
static int plan_lane(const planner *p, diamond_lane *lane, xfi_job jobs[2]) {
    int64_t low = lane->low, high = lane->high;
    if (low > high)
        return 1;
    int only_inner = low == high && lane->pending[1];
    if (!only_inner && !next_job(p, lane, 0, high, &jobs[0]))
        return 0;
    if ((low < high || only_inner) && !next_job(p, lane, 1, low, &jobs[1]))
        return 0;
    for (int inner = 0; inner < 2; inner++) {
        lane->pending[inner] = jobs[inner].kind == XFI_JOB_CLAMP;
        if (jobs[inner].kind == XFI_JOB_WRITE) {
            lane->low += inner;
            lane->high -= !inner;
        }
    }
    return 1;
}

static int plan_jobs(planner *p) {
    xfi_diamond *out = p->out;
    while (p->lane[0].low <= p->lane[0].high || p->lane[1].low <= p->lane[1].high) {
        xfi_job *jobs = out->jobs[out->n_steps++];
        if (!plan_lane(p, &p->lane[0], jobs) || !plan_lane(p, &p->lane[1], jobs + 2))
            return 0;
    }
    return 1;
}

/* T-diamond, routing test: every term of the routing block is a multiple of (eps/2) g and the sums
 * stay below 2^p of them. The edges a +- h are numbers of the format. */
static int routing_fits(const xfi_diamond *diamond, double largest_d, const xfi_format *format) {
    double g = 1.0;
    if (!(diamond->a < 0x1p50)) /* beyond, a and a +- h themselves may be rounded */
        return 0;
    for (int side = 0; side < 2; side++) {
        double h = side ? diamond->h : -diamond->h, edge = diamond->a + h;
        if (!exact_difference(diamond->a, -h, format)) /* also where a itself was rounded */
            return 0;
        if (!xfi_representable(format, edge))
            return 0;
        if (edge != 0.0)
            g = fmin(g, ldexp(1.0, xfi_lowest_bit(edge)));
    }
    double slope = diamond->beta / (2 * diamond->h) + diamond->epsilon / 2;
    double limit = ldexp(diamond->epsilon / 2 * g, format->p);
    limit = fmin(limit, ldexp(1.0, format->emax - 24)); /* no partial sum overflows */
    return slope * (largest_d + diamond->h) * (1.0 + 0x1p-50) <= limit &&
           xfi_representable(format, slope);
}

static void set_scale(planner *p, double largest_d) {
    double largest = 0;
    for (int64_t g = 0; g < p->cells->n; g++)
        for (int second = 0; second < 2; second++)
            largest =
                fmax(largest, fabs(written_value(p->written, p->cells->at[g].target, second)));
    p->reach = xfi_power_above(largest);
    double cover = fmax(largest_d + 1.0, 2.0);
    int bits = xfi_exponent(cover) + (ldexp(1.0, xfi_exponent(cover)) < cover);
    p->out->alpha = p->reach;
    p->out->beta = 2 * p->reach;
    p->out->epsilon = ldexp(p->reach, -bits);
}

/* The middle of the gap; if `wide`, exactly, and h is the largest power of two in its half. */
static void set_middle(xfi_diamond *out, const xfi_cells *cells, int64_t below, int wide) {
    out->h = 0.5;
    if (below == 0) {
        out->a = (double)cells->at[0].low - 0.5;
        return;
    }
    int64_t sum = cells->at[below - 1].high + cells->at[below].low, whole = sum / 2;
    out->a = (double)whole + (wide && sum % 2 == 0 ? 0.0 : 0.5);
    if (wide)
        out->h = ldexp(1.0, xfi_exponent((double)gap_below(cells, below)) - 1);
}

static double set_origin(planner *p, int wide) {
    const xfi_cells *cells = p->cells;
    int64_t last = cells->n - 1;
    int64_t below = wide && cells->n > 1 ? widest_prefix(cells) : balanced_prefix(cells);
    set_middle(p->out, cells, below, wide);
    p->lane[0] = (diamond_lane){
        .sign = 1.0, .n = cells->n - below, .first = below, .high = cells->n - below - 1};
    p->lane[1] = (diamond_lane){.sign = -1.0, .n = below, .first = below - 1, .high = below - 1};
    return fmax((double)cells->at[last].high - p->out->a,
                below > 0 ? p->out->a - (double)cells->at[0].low : 0.0);
}

xf_status xfi_diamond_plan(xfi_diamond *out, int *feasible, const xfi_cells *cells,
                           const xfi_written *written, const xfi_format *format, int wide,
                           xf_error *error) {
    *out = (xfi_diamond){0};
    out->jobs = xfi_calloc(2 * cells->n + 2, sizeof *out->jobs);
    if (out->jobs == NULL)
        return xfi_fail_memory(error);
    planner p = {.out = out, .cells = cells, .written = written, .format = format};
    double largest_d = set_origin(&p, wide);
    set_scale(&p, largest_d);
    *feasible = isfinite(out->beta) && out->epsilon >= ldexp(1.0, format->emin + format->p) &&
                routing_fits(out, largest_d, format) && plan_jobs(&p);
    if (!*feasible)
        xfi_diamond_clear(out);
    return XF_OK;
}

/* x_k1 = s (alpha + eps |D|), x_k2 = s (beta - eps |D|) with s = sign D, from q on k2. */
static void emit_routing(const xfi_diamond *diamond, xfi_axes axes, xf_model *model,
                         int64_t block) {
    double e = diamond->epsilon / 2, a = diamond->alpha / (2 * diamond->h),
           b = diamond->beta / (2 * diamond->h);
    const double k1[4] = {e + a, e - a, -e - a, -e + a};
    const double k2[4] = {-e + b, -e - b, e - b, e + b};
    model->ff_eta[block] = 0.0;
    for (int i = 0; i < 4; i++) {
        double side = i < 2 ? 1.0 : -1.0;
        double bias = -side * diamond->a + (i % 2 ? -diamond->h : diamond->h);
        int neuron = xfi_neuron_add(model, block, axes.k2, side, bias);
        xfi_neuron_out(model, block, neuron, axes.k1, k1[i]);
        xfi_neuron_out(model, block, neuron, axes.k2, k2[i]);
    }
}

static void emit_write(const xfi_diamond *diamond, const xfi_job *job, int64_t target,
                       const xfi_written *written, xf_model *model, int64_t block) {
    xfi_axes axes = written->axes;
    int neuron = xfi_neuron_add(model, block, job->inner ? axes.k2 : axes.k1,
                                ldexp(job->sign, -job->k), -ldexp(job->theta, -job->k));
    for (int k = 0; written->y != NULL && k < written->d; k++)
        xfi_neuron_out(model, block, neuron, k, written->y[target * written->d + k]);
    for (int second = 0; second < 2; second++)
        xfi_neuron_out(model, block, neuron, second ? axes.k2 : axes.k1,
                       written_value(written, target, second) -
                           job->sign * at_end(diamond, second, job->code));
}

/* Slide the members along the edge to the code. */
static void emit_clamp(const xfi_diamond *diamond, const xfi_job *job, xfi_axes axes,
                       xf_model *model, int64_t block) {
    int neuron = xfi_neuron_add(model, block, job->inner ? axes.k2 : axes.k1, job->sign,
                                -at_end(diamond, job->inner, job->code));
    double out = job->inner ? job->sign : -job->sign;
    xfi_neuron_out(model, block, neuron, axes.k1, out);
    xfi_neuron_out(model, block, neuron, axes.k2, -out);
}

void xfi_diamond_emit(const xfi_diamond *diamond, const xfi_cells *cells,
                      const xfi_written *written, xf_model *model, int64_t first) {
    emit_routing(diamond, written->axes, model, first);
    for (int64_t step = 0; step < diamond->n_steps; step++) {
        for (int end = 0; end < 4; end++) {
            const xfi_job *job = &diamond->jobs[step][end];
            if (job->kind == XFI_JOB_CLAMP)
                emit_clamp(diamond, job, written->axes, model, first + 1 + step);
            else if (job->kind == XFI_JOB_WRITE)
                emit_write(diamond, job, cells->at[job->group].target, written, model,
                           first + 1 + step);
        }
    }
}
