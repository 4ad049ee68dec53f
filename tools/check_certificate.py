#!/usr/bin/env python3
"""Check a certificate: prove again what it claims, from the model and the data alone.

Written from docs/theory.md, with the lemmas [K-...] of docs/checker.md; nothing is shared with the certifier. Each
sequence is sent through the model. A coordinate of a token is a point (an exact number) or a Form: an affine function
of unknown numbers (symbols), each in an interval and, in sense (F), a multiple of a known power of two. Sums that are
exact in every order keep forms, others make new symbols. A sequence is proved if its outputs end as points and these
are its targets. Exit status: 0 the hashes fit, the certificate says yes twice, and both claims are proved again for all
sequences looked at; 1 not so; 2 usage; 3 bad certificate, model or data; 4 a file cannot be read."""
import argparse, ast, collections, hashlib, io, itertools, json, math, random, struct, sys, zipfile
from decimal import Context, ROUND_CEILING
from fractions import Fraction
from functools import lru_cache
ZERO, ONE, WORK = Fraction(0), Fraction(1), 1e7  # WORK: tokens times neurons up to which all sequences are looked at
class Unproved(Exception): pass
class Broken(Exception): pass  # a file that makes no sense; the text says what is wrong
# ---- numbers -------------------------------------------------------------------------------------------------------
@lru_cache(maxsize=None)
def two(e):
    return Fraction(1 << e) if e >= 0 else Fraction(1, 1 << -e)
def exponent(q):  # floor(log2 q), q > 0
    n, d = q.numerator, q.denominator
    e = n.bit_length() - d.bit_length()
    return e - 1 if (n < d << e if e >= 0 else n << -e < d) else e
def low(q):  # the dyadic number q is an odd multiple of 2^low, or 0
    n = q.numerator
    return (n & -n).bit_length() - q.denominator.bit_length() if n else 9999
def exp_above(x):  # at least exp(x), x <= 0; Context.exp is correctly rounded; 2^-1154 > e^-800
    c = Context(prec=40, rounding=ROUND_CEILING)
    return min(ONE, Fraction(c.next_plus(c.exp(c.divide(x.numerator, x.denominator))))) if x >= -800 else two(-1154)
class Symbol:
    """An unknown multiple of 2^e in [lo, hi], a number of the format if floating, within noise of the form source."""
    def __init__(self, lo, hi, e, floating=False, source=None, noise=ZERO):
        self.lo, self.hi, self.e, self.floating, self.source, self.noise = lo, hi, e, floating, source, noise
Form = collections.namedtuple("Form", "constant terms")  # constant + sum of coefficients times symbols
def combine(terms):  # the exact sum of coefficient * value
    constant, symbols = ZERO, {}
    for c, v in terms:
        if isinstance(v, Form):
            constant += c * v.constant
            for s, a in v.terms.items():
                symbols[s] = symbols.get(s, ZERO) + c * a
        else:
            constant += c * v
    symbols = {s: a for s, a in symbols.items() if a}
    return Form(constant, symbols) if symbols else constant
def span(v, piece={}):  # [lo, hi] of a value; a piece restricts a symbol
    if not isinstance(v, Form):
        return v, v
    lo = hi = v.constant
    for s, a in v.terms.items():
        l, h = piece[s][:2] if s in piece else (s.lo, s.hi)
        lo, hi = (lo + a * l, hi + a * h) if a > 0 else (lo + a * h, hi + a * l)
    return lo, hi
def size(v):
    return max(map(abs, span(v)))
def largest_sums(spans):  # of positive parts, of negative parts
    return sum(max(h, ZERO) for _, h in spans), sum(max(-l, ZERO) for l, _ in spans)
def bounds(v):  # span, or from the sources of the symbols if that is narrower
    (lo, hi), noise, terms = span(v), ZERO, [(ONE, v)]
    for s, a in v.terms.items() if isinstance(v, Form) else ():
        if s.source is not None:
            noise, terms = noise + abs(a) * s.noise, terms + [(a, s.source), (-a, Form(ZERO, {s: ONE}))]
    l, h = span(combine(terms))
    return max(lo, l - noise), min(hi, h + noise)
class Reals:
    """Sense (R): nothing is rounded."""
    p, u, tiny, exp_ulp, subnormal = None, ZERO, -9999, 0, False
    def lattice(self, v, piece={}): return 0
    def round(self, q): return q
    def sum(self, terms, gate=False): return combine(terms)
    def near(self, terms, q, e, scale=1): return combine(terms)
    def symbol(self, lo, hi, e=0): return lo if lo == hi else Form(ZERO, {Symbol(lo, hi, e): ONE})
    def mean(self, values): return self.symbol(*(sum(ends) / len(values) for ends in zip(*map(span, values))))
class Floats(Reals):
    """Sense (F): encloses all admissible evaluations. `subnormal`: may a number between 0 and 2^emin occur?"""
    def __init__(self, p, emin, exp_ulp=0):
        self.p, self.emin, self.tiny, self.exp_ulp = p, emin, emin - p + 1, exp_ulp
        self.u, self.huge = two(-p), two(2 - emin)
    def unit(self, q):  # exponent of ulp(q)
        return max(exponent(abs(q)) if q else self.emin, self.emin) - self.p + 1
    def half(self, q): return two(self.unit(q) - 1)
    def round(self, q, how=round):
        r = how(q / two(self.unit(q))) * two(self.unit(q))
        if abs(r) >= self.huge:
            raise Unproved("overflow")
        return r
    def symbol(self, lo, hi, e=-9999, source=None, noise=ZERO):  # a number of the format in [lo, hi]
        lo, hi = self.round(lo, math.ceil), self.round(hi, math.floor)
        e = max(e, self.unit(min(abs(lo), abs(hi)) if lo > 0 or hi < 0 else ZERO))
        return lo if lo == hi else Form(ZERO, {Symbol(lo, hi, e, True, source, noise): ONE})
    def lattice(self, v, piece={}):  # v is a multiple of 2^this
        if not isinstance(v, Form):
            return low(v)
        return min([low(v.constant)] + [low(a) + (piece[s][2] if s in piece else s.e) for s, a in v.terms.items()])
    def pieces(self, values):  # if there is only one symbol: its interval, binade by binade
        symbols = {s for v in values if isinstance(v, Form) for s in v.terms}
        s = symbols.pop() if len(symbols) == 1 else None
        if s is None or not s.floating or s.lo <= 0 <= s.hi:
            return [{}]
        (a, b), sign = sorted((abs(s.lo), abs(s.hi))), 1 if s.lo > 0 else -1
        cut = [(max(a, two(k)), min(b, two(k + 1)), k) for k in range(exponent(a), exponent(b) + 1)]
        return [{s: (*sorted((sign * l, sign * h)), max(s.e, self.unit(two(k))))} for l, h, k in cut]
    def on_grid(self, values, piece):  # [K-grid] all sums of some of the values are numbers of the format
        e = min(self.lattice(v, piece) for v in values)
        most = max(largest_sums([span(v, piece) for v in values]))
        return e >= self.tiny and most <= two(self.p + e) and most < self.huge
    def fits(self, values): return all(self.on_grid(values, piece) for piece in self.pieces(values))
    def is_exact(self, products):  # in every order, fused or not
        if self.fits(products) or len(products) > 6:
            return self.fits(products)
        subsets = [some for k in range(len(products)) for some in itertools.combinations(products, k + 1)]
        sums = [combine([(ONE, v) for v in some]) for some in subsets]  # [K-subsets]
        return all(self.on_grid([v], piece) for v in sums for piece in self.pieces(products))
    def sum(self, terms, gate=False):
        """coefficient * value (neither is 0) in every order. A gate only feeds a relu: 0 may stand for any v <= 0."""
        exact, products = combine(terms), [combine([t]) for t in terms]
        e = min(map(self.lattice, products))
        self.subnormal |= e < self.emin
        if self.is_exact(products):
            return exact
        (lo, hi), fit = bounds(exact), [self.fits([v]) for v in products]
        rest = [v for v, f in zip(products, fit) if f and not isinstance(v, Form)]
        signed = len(rest) >= len(terms) - 1 and (not rest or self.is_exact(rest))  # [K-sign]
        if gate and signed and hi <= 0:
            return ZERO
        if len(terms) == 1 or len(terms) == 2 and all(fit):  # [K-once]
            return self.symbol(self.round(lo), self.round(hi), e, exact, self.half(max(-lo, hi)))
        positive, negative = largest_sums(list(map(span, products)))
        each = error = sum(self.half(size(v)) for v, f in zip(products, fit) if not f)
        most, last = max(positive, negative), None
        while error != last:  # [K-sum]
            error, last = each + (len(terms) - 1) * self.half(most + error), error
        if gate and hi + error <= 0 and positive + error < self.huge:  # -infinity at worst
            return ZERO
        if most + error >= self.huge:
            raise Unproved("overflow")
        return self.symbol(lo - error, hi + error, e, exact, error)
    def near(self, terms, q, e, scale=1):  # [K-near] any evaluation with q roundings of each term at most
        exact, total = combine(terms), sum(size(combine([t])) for t in terms)
        noise = q * self.u / (1 - q * self.u) * total + 2 * q * scale * two(self.tiny)
        if total + noise >= self.huge:
            raise Unproved("overflow")
        self.subnormal |= e < self.emin
        lo, hi = bounds(exact)
        return self.symbol(lo - noise, hi + noise, -9999, exact, noise)
    def mean(self, values):  # [K-mean] of different tokens: forms are not carried over
        n, e = len(values), min(map(self.lattice, values))
        if n == 1 or not any(values):
            return values[0]
        lo, hi = (sum(ends) for ends in zip(*map(span, values)))
        if n & (n - 1) == 0 and sum(map(size, values)) <= two(self.p + e) and e - exponent(Fraction(n)) >= self.tiny:
            self.subnormal |= e - exponent(Fraction(n)) < self.emin
            return self.symbol(lo / n, hi / n, e - exponent(Fraction(n)))
        apart = [v if not isinstance(v, Form) else Form(ZERO, {Symbol(*span(v), 0): ONE}) for v in values]
        v = self.near([(Fraction(1, n), v) for v in apart], n + 1, e - n.bit_length() - self.p)
        return self.symbol(*span(v)) if isinstance(v, Form) else v
# ---- evaluation ----------------------------------------------------------------------------------------------------
class State:
    """The coordinates of a token, and floats around them that show at once what is inactive."""
    def __init__(self, values):
        spans, self.values = list(map(span, values)), values
        self.lo, self.hi = ([math.nextafter(s[i], side) for s in spans] for i, side in ((0, -math.inf), (1, math.inf)))
        self.size = list(map(max, map(abs, self.lo), map(abs, self.hi)))
class Evaluation:
    """The model in one sense with one kind of attention: softmax for all temperatures up to tau, or hardmax."""
    def __init__(self, model, numbers, softmax, tau):
        self.model, self.numbers, self.softmax, self.tau = model, numbers, softmax, tau
        self.slack, self.tiny = (2.0 ** -23, 2.0 ** -120) if numbers.p == 24 else (2.0 ** -52, 2.0 ** -1016)
    def surely_inactive(self, inputs, bias, x):  # [K-filter]
        if len(inputs) <= 1:  # two terms: the sign of the sum is the exact one
            return all(u * (x.hi[k] if u > 0 else x.lo[k]) < -bias for k, u in inputs) if inputs else bias <= 0
        a, most = bias, abs(bias)
        for k, u in inputs:
            a += u * (x.hi[k] if u > 0 else x.lo[k])
            most += abs(u) * x.size[k]
        return a < -(most * self.slack + self.tiny) * (len(inputs) + 3) and most < 1e30
    def total(self, terms, gate=False):
        terms = [(a, b) for a, b in terms if a and b]
        return self.numbers.sum(terms, gate) if terms else ZERO
    def relu(self, v):
        lo, hi = bounds(v)
        return ZERO if hi <= 0 else v if lo >= 0 else self.numbers.symbol(ZERO, hi, self.numbers.lattice(v))
    def feed_forward(self, block, x):
        active = {}
        for i, (inputs, bias) in enumerate(block.neurons):
            if not self.surely_inactive(inputs, bias, x):
                terms = [(Fraction(u), x.values[k]) for k, u in inputs] + [(Fraction(bias), ONE)]
                active[i] = self.relu(self.total(terms, True))
        if not any(active.values()) and block.eta == 1:
            return x
        out = []
        for v, column in zip(x.values, block.columns):
            terms = [(w, active[i]) for i, w in column if i in active]
            out.append(self.total([(block.eta, v)] + terms) if terms or block.eta != 1 else v)
        return State(out)
    def apply(self, M, m, rho, x):  # [K-value] rho x + (alpha I + left right^T + full) m
        inner, e = [(r, v) for r, v in zip(M.right, m) if r and v], self.numbers.lattice
        projection, out = self.total(inner), []
        simple = self.numbers.p is None or M.simple and (not inner or self.numbers.is_exact([combine(inner)]))
        for c in range(len(m)):
            direct = [(rho, x[c]), (M.alpha, m[c])] + list(zip(M.full[c], m) if M.full else ())
            if simple or not M.left[c] and not M.full:
                out.append(self.total(direct + [(M.left[c], projection)]))
            else:
                terms = [(a, v) for a, v in direct + [(M.left[c] * r, v) for r, v in inner] if a and v]
                least = min([e(combine([t])) for t in terms + inner] + [e(a) for a, _ in terms], default=0)
                out.append(self.numbers.near(terms, 2 * len(m) + 6, least, 1 + abs(M.left[c]) + max(map(size, m))))
        return out
    def logit(self, q, t):
        if not any(isinstance(v, Form) for v in q + t):
            return bounds(self.total(list(zip(q, t))))
        ends = [[v * w for v in span(a) for w in span(b)] for a, b in zip(q, t)]
        least = min(self.numbers.lattice(a) + self.numbers.lattice(b) for a, b in zip(q, t))
        return bounds(self.numbers.near([(ONE, Reals().symbol(min(v), max(v))) for v in ends], len(q), least))
    def average(self, A, x, tokens):  # the mean of the tokens that token x attends to
        d = range(len(x))
        if A.zero or len(tokens) == 1:
            return [self.numbers.mean([t[c] for t in tokens]) for c in d]
        if self.softmax and self.tau is None:
            raise Unproved("this attention depends on the temperature")
        q = self.apply(A, x, ZERO, x)
        logits = [self.logit(q, t) for t in tokens]
        base = max(range(len(tokens)), key=lambda l: logits[l][0])
        if not self.softmax:
            chosen = [l for l, (_, h) in enumerate(logits) if h >= logits[base][0]]
            if len(chosen) > 1 and any(logits[l][0] != logits[l][1] for l in chosen):
                raise Unproved("the argmax is not decided")
            return tokens[base] if len(chosen) == 1 else [self.numbers.mean([tokens[l][c] for l in chosen]) for c in d]
        u, ulp, largest = self.numbers.u, self.numbers.exp_ulp, max(abs(e) for z in logits for e in z)
        most = lambda gap: exp_above(min(gap, ZERO) / self.tau * (1 - 8 * u)) * (1 + 4 * (ulp + 8) * u)  # [K-softmax]
        weights = [Symbol(ZERO, min(ONE, most(h - logits[base][0] + 4 * u * largest) + ulp * two(self.numbers.tiny)), 0)
                   for _, h in logits]
        return [self.weighted(weights, base, [t[c] for t in tokens]) for c in d]
    def weighted(self, weights, base, values):  # base + sum of weight * (value - base)
        terms, (lo, hi) = [(ONE, values[base])], span(values[base])
        for (l, h), w in [(span(v), w) for i, (v, w) in enumerate(zip(values, weights)) if i != base]:
            terms += [((l + h - lo - hi) / 2, Form(ZERO, {w: ONE})),
                      ((h - l + hi - lo) / 2 * w.hi, Form(ZERO, {Symbol(-ONE, ONE, 0): ONE}))]
        return self.numbers.near(terms, 2 * len(values) + 8, -9999)
    def attention(self, block, states):
        V, rho, out, memory = block.V, block.rho, [], {}
        if V.zero:
            return states if rho == 1 else [State([self.total([(rho, v)]) for v in s.values]) for s in states]
        if self.numbers.p and any(sum(sizes) > self.numbers.huge / 4 for sizes in zip(*[s.size for s in states])):
            raise Unproved("overflow in a mean")  # even in one that V multiplies by 0
        for i, s in enumerate(states):
            n = i + 1 if self.model.causal else len(states)
            key = n, id(s) if rho or not block.A.zero else None
            if key not in memory:
                m = self.average(block.A, s.values, [t.values for t in states[:n]])
                if rho and n > 1:  # no form connects two tokens
                    m = [self.numbers.symbol(*bounds(v), self.numbers.lattice(v)) for v in m]
                memory[key] = State(self.apply(V, m, rho, s.values))
            out.append(memory[key])
        return out
    def run(self, tokens):  # the values of all outputs of one sequence
        states = [State([self.numbers.round(Fraction(v)) for v in t]) for t in tokens]
        for b, block in enumerate(self.model.blocks):
            before = states
            try:
                for is_attention in (True, False) if self.model.order == "sa-ff" else (False, True):
                    if is_attention:
                        states = self.attention(block, states)
                    else:
                        done = {k: self.feed_forward(block, s) for k, s in {id(s): s for s in states}.items()}
                        states = [done[id(s)] for s in states]
            except Unproved as e:
                raise Unproved(f"block {b}: {e}") from None
            if any(s is not t for s, t in zip(states, before)):  # tokens at equal points are one from here on
                key, seen = lambda s: tuple(id(v) if isinstance(v, Form) else v for v in s.values), {}
                states = [seen.setdefault(key(s), s) for s in states]
        return [s.values for s in states]
# ---- files ---------------------------------------------------------------------------------------------------------
def unpack(kind, raw, order="<"):  # kind: a letter and the bytes of an element
    code = {"f2": "e", "f4": "f", "f8": "d", "b1": "B"}.get(kind) or "bhiq"[int(kind[1]).bit_length() - 1]
    return struct.unpack(f"{order}{len(raw) // int(kind[1])}{code.upper() if kind[0] == 'u' else code}", raw)
def read_safetensors(raw):  # metadata, {name: (type, shape, values)}
    start = 8 + int.from_bytes(raw[:8], "little")
    if len(raw) < 8 or start > len(raw):
        raise Broken("the file ends within its header")
    header, kind = json.loads(raw[8:start]), lambda t: t[0].lower() + str(int(t[1:]) // 8)
    meta, tensors = header.pop("__metadata__", {}), {}
    for name, t in header.items():
        a, b = t["data_offsets"]
        if not 0 <= a <= b <= len(raw) - start:
            raise Broken("a tensor lies outside the file: it is truncated or damaged")
        tensors[name] = t["dtype"], t["shape"], unpack(kind(t["dtype"]), raw[start + a:start + b])
        if math.prod(t["shape"]) != len(tensors[name][2]):
            raise Broken("the shape of a tensor does not fit the number of its values")
    return meta, tensors
def read_npy(raw):
    start = 12 if raw[6] > 1 else 10
    end = start + int.from_bytes(raw[8:start], "little")
    head = ast.literal_eval(raw[start:end].decode("latin1"))
    shape, flat = head["shape"], unpack(head["descr"][1:], raw[end:], ">" if head["descr"][0] == ">" else "<")
    if head["fortran_order"]:
        places, steps = itertools.product(*map(range, shape)), [math.prod(shape[:k]) for k in range(len(shape))]
        flat = [flat[sum(map(int.__mul__, place, steps))] for place in places]
    return head["descr"], shape, flat
def read_dataset(path, raw):  # [(X_j, Y_j)], tokens are tuples of floats
    def rows(flat, d):
        if any(float(v) != v or math.isinf(v) for v in flat):
            raise Broken("a value of the data is not a finite binary64 number")
        return list(zip(*[map(float, flat)] * d))
    if path.endswith(".jsonl"):
        lines = [json.loads(line) for line in raw.decode().splitlines() if line.strip()]
        sides = [[[rows(t, len(t))[0] for t in line[name]] for line in lines] for name in "xy"]
    else:
        if path.endswith(".npz"):
            with zipfile.ZipFile(io.BytesIO(raw)) as z:
                arrays = {n[:-4]: read_npy(z.read(n)) for n in z.namelist() if n[:-4].replace("_offsets", "") in "xy"}
        else:
            arrays = read_safetensors(raw)[1]
        sides = []
        for name in "xy":
            shape, tokens = arrays[name][1], rows(arrays[name][2], arrays["x"][1][-1])
            even = range(0, len(tokens) + 1, shape[1] if len(shape) == 3 else 1)
            ends = arrays.get(name + "_offsets", (0, 0, even))[2]
            if ends[0] or ends[-1] != len(tokens) or any(a >= b for a, b in zip(ends, ends[1:])):
                raise Broken(f"the offsets of {name} do not fit")
            sides.append([tokens[a:b] for a, b in zip(ends, ends[1:])])
    if len({len(side) for side in sides}) != 1 or len({len(t) for side in sides for ts in side for t in ts}) != 1:
        raise Broken("there are not as many targets as inputs, or tokens differ in their number of coordinates")
    return list(zip(*sides))
class Matrix:
    def __init__(self, fits, alpha, left, right, full):  # alpha I + left right^T + full
        self.alpha, self.full = alpha, full if any(map(any, full)) else []
        self.left, self.right = (left, right) if any(left) and any(right) else ([ZERO] * len(left),) * 2
        self.zero, units = not (alpha or any(self.left) or self.full), [r for r in self.right if r]
        self.simple = len(units) == 1 and abs(units[0]) == two(low(units[0])) and not alpha and not self.full and all(
            fits([a * units[0]]) for a in left if a)  # then it is the same with factors and multiplied out
class Model:
    def __init__(self, raw):
        meta, tensors = read_safetensors(raw)
        if "ff.W" not in tensors:
            raise Broken("the model is not in the interchange layout: `exactformer export` first")
        (self.dtype, (L, self.d, self.width), _), config = tensors["ff.W"], json.loads(meta.get("config", "{}"))
        self.format = {"F64": (53, -1022), "F32": (24, -126)}[self.dtype]
        self.weights = {n: t[2] for n, t in tensors.items() if n[:3] in ("ff.", "sa.")}
        self.causal, self.positions = bool(config.get("causal")), config.get("positions")
        self.order, d, w = config.get("order", "ff-sa"), self.d, self.width
        shapes = {"ff.eta": [], "ff.W": [d, w], "ff.U": [w, d], "ff.b": [w], "sa.rho": []}
        for m in ("sa.A.", "sa.V."):
            shapes |= {m + "alpha": [], m + "left": [d], m + "right": [d]}
        if any(name not in tensors or tensors[name][1] != [L, *shape] for name, shape in shapes.items()):
            raise Broken("tensors of the model are missing or have the wrong shape")
        if self.positions is not None and (type(self.positions) is not int or not 0 <= self.positions <= 1074):
            raise Broken("the positions of the model's config are no whole number from 0 to 1074")
        self.blocks = [Block(self, b, self.d, self.width) for b in range(L)]
class Block:
    def __init__(self, model, b, d, w):
        row = lambda name, n: model.weights.get(name, ())[b * n:(b + 1) * n]
        exact = lambda name, n: list(map(Fraction, row(name, n)))
        U, W, bias = row("ff.U", w * d), row("ff.W", d * w), row("ff.b", w)
        self.eta, self.rho = exact("ff.eta", 1)[0], exact("sa.rho", 1)[0]
        self.neurons = [([(k, U[i * d + k]) for k in range(d) if U[i * d + k]], bias[i]) for i in range(w)]
        self.columns = [[(i, Fraction(W[c * w + i])) for i in range(w) if W[c * w + i]] for c in range(d)]
        self.A, self.V = (Matrix(Floats(*model.format).fits, *exact(m + "alpha", 1), exact(m + "left", d), exact(
            m + "right", d), list(zip(*[iter(exact(m + "full", d * d))] * d))) for m in ("sa.A.", "sa.V."))
def load(path, what, read):  # (what `read` makes of the file, its bytes)
    with open(path, "rb") as f:
        raw = f.read()
    try:
        return read(raw), raw
    except Broken as e:
        raise Broken(f"{path}: {e}") from None
    except Exception:  # anything may be wrong with strangers' files
        raise Broken(f"{path}: damaged, or no {what}") from None
# ---- the certificate -----------------------------------------------------------------------------------------------
def one_of(*values): return lambda v: type(v) is str and v in values, "one of " + ", ".join(values)
WHOLE = lambda v: type(v) is int and 0 <= v < 2 ** 63, "a whole number below 2^63"
HASH = (lambda v: v is None or type(v) is str and len(v) == 64 and not set(v) - set("0123456789abcdef"),
        "a SHA-256 or null")
TAU = lambda v: v is None or type(v) in (int, float) and 0 < v < 2 ** 1024, "a finite number above 0 or null"
ULP = lambda v: v is None or type(v) is int and 1 <= v <= 1024, "a whole number from 1 to 1024 or null"
CLAIM = {"answer": one_of("yes", "no", "unknown"), "tau_max": TAU}
FORM = {  # of a certificate, as far as it is looked at: (test, what it tests) or the members of an object
    "model": {"sha256": HASH, "dtype": one_of("F64", "F32"), "d": WHOLE, "width": WHOLE, "blocks": WHOLE,
              "order": one_of("ff-sa", "sa-ff"), "causal": (lambda v: type(v) is bool, "true or false"),
              "attention": one_of("hardmax", "softmax")},
    "dataset": {"sha256": HASH, "sequences": WHOLE, "tokens": WHOLE, "targets": WHOLE},
    "claims": {"real": CLAIM,
               "ieee": {**CLAIM, "conditions": {"subnormals": one_of("absent", "possible"), "exp_ulp": ULP}}}}
def conform(value, form, name):
    if isinstance(form, tuple):
        if not form[0](value):
            raise Broken(f"{name} is not {form[1]}")
        return
    if not isinstance(value, dict):
        raise Broken(f"{name or 'the certificate'} is not an object")
    for key, part in form.items():
        inner = f"{name}.{key}" if name else key
        if key not in value:
            raise Broken(f"{inner} is missing")
        conform(value[key], part, inner)
def read_certificate(raw):
    def no_number(text): raise Broken(f"{text} is no number of JSON")
    try:
        certificate = json.loads(raw.decode("utf-8"), parse_constant=no_number)
    except json.JSONDecodeError as e:
        ends = "the file ends too early, or " if e.pos >= len(e.doc.rstrip()) else ""
        raise Broken(f"not JSON: {ends}line {e.lineno}, column {e.colno} makes no sense") from None
    except (ValueError, RecursionError):
        raise Broken("not JSON: no UTF-8, a number of thousands of digits, or nested too deeply") from None
    conform(certificate, FORM, "")
    return certificate
def failure(evaluation, x, y):  # None, or what could not be proved of a sequence
    try:
        out = evaluation.run(x)
    except (Unproved, OverflowError) as e:
        return str(e)
    open_ = ["coordinate %d of token %d is only known to lie in [%.17g, %.17g]" % (k, i, *span(v))
             for i, values in enumerate(out) for k, v in enumerate(values) if isinstance(v, Form)]
    same = not open_ and set(map(tuple, out)) == {tuple(map(Fraction, t)) for t in y}
    return open_[0] if open_ else None if same else "the outputs are not the targets"
def check(args):
    read_pairs = lambda raw: read_dataset(args.dataset, raw)
    (certificate, model, pairs), raw = zip(load(args.certificate, "certificate", read_certificate), load(
        args.model, "model file of exactformer", Model), load(args.dataset, "data set", read_pairs))
    if len(pairs[0][0][0]) + 1 == model.d and model.positions is not None:  # build --positions append
        place = lambda tokens: [t + (l * 2.0 ** -model.positions,) for l, t in enumerate(tokens)]
        pairs = [(place(x), place(y)) for x, y in pairs]
    if len(pairs[0][0][0]) != model.d:
        raise Broken(f"{args.dataset}: tokens have {len(pairs[0][0][0])} coordinates, those of the model {model.d}")
    pairs = list({frozenset(x): (x, y) for x, y in pairs}.values())  # a repeated pair counts once
    tokens, digests = sum(len(x) for x, _ in pairs), [hashlib.sha256(r).hexdigest() for r in raw]
    facts = [("model", dict(sha256=digests[1], dtype=model.dtype, d=model.d, width=model.width, order=model.order,
                            blocks=len(model.blocks), causal=model.causal)), ("dataset", dict(
        sha256=digests[2], sequences=len(pairs), tokens=tokens, targets=sum(len(y) for _, y in pairs)))]
    failures = [f"{part}: {key} is {value}, the certificate says {certificate[part][key]}" for part, values in facts
                for key, value in values.items() if certificate[part][key] != value]
    everything = args.all or args.sample is None and tokens * len(model.blocks) * model.width <= WORK
    n = len(pairs) if everything else min(args.sample or 16, len(pairs))
    groups = [*model.weights.values(), *(t for x, _ in pairs for t in x)]
    subnormal = any(0 < abs(v) < 2.0 ** model.format[1] for group in groups for v in group)
    for sense in ("real", "ieee") if not failures else ():
        claim, bad = certificate["claims"][sense], []
        conditions, tau = claim["conditions"] if sense == "ieee" else {}, claim["tau_max"]
        if claim["answer"] != "yes":
            failures.append(f"{sense}: the certificate's answer is {claim['answer']}")
            continue
        numbers = Reals() if sense == "real" else Floats(*model.format, conditions["exp_ulp"] or 0)
        evaluation = Evaluation(model, numbers, certificate["model"]["attention"] == "softmax", tau and Fraction(tau))
        for j in sorted(random.Random(args.seed).sample(range(len(pairs)), n)):
            bad += [f"{sense}: sequence {j}: {text}" for text in [failure(evaluation, *pairs[j])] if text]
        print(f"{sense}: {n - len(bad)} of {n} sequences proved again, {len(pairs) - n} not looked at")
        if conditions.get("subnormals") == "absent" and (numbers.subnormal or subnormal):
            bad.append(f"{sense}: subnormal numbers may occur")
        failures += bad
    return failures
def complain(status, text):
    print("check_certificate: " + "".join(c if c.isprintable() else "?" for c in text), file=sys.stderr)
    return status
def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("certificate", "model", "dataset"):
        parser.add_argument(name)
    parser.add_argument("--all", action="store_true", help="every sequence, however long it takes")
    parser.add_argument("--sample", type=int, metavar="K", help="K sequences drawn at random (large models: 16)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    args = parser.parse_args()
    try:
        failures = check(args)
        print(*failures[:20], "NOT confirmed" if failures else "confirmed", sep="\n")
        status = 1 if failures else 0
    except OSError as e:
        status = complain(4, f"{e.filename}: {e.strerror}" if e.filename else e.strerror or "cannot read or write")
    except Broken as e:
        status = complain(3, str(e))
    except KeyboardInterrupt:
        status = 130
    except Exception as e:
        text = f"{args.certificate}, {args.model} and {args.dataset} cannot be checked together"
        status = complain(3, f"{text} ({type(e).__name__})")
    sys.exit(status)

if __name__ == "__main__":
    main()
