#!/usr/bin/env python3
"""tools/check_certificate.py against the program, against forgeries and against spoiled models.

    checker_test.py PROGRAM XF_MUTANTS ROOT

Standard library only. Certificates of models of every construction are confirmed; models, data and
certificates that were tampered with are not, even if the certificate is forged to fit them.
"""
import concurrent.futures
import copy
import hashlib
import importlib.util
import json
import math
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from fractions import Fraction

PROGRAM, XF_MUTANTS, ROOT = (os.path.abspath(p) for p in sys.argv[1:4])
CHECKER = os.path.join(ROOT, "tools", "check_certificate.py")
GOLDEN = os.path.join(ROOT, "tests", "golden", "datasets")
N_MUTANTS = 150

spec = importlib.util.spec_from_file_location("check_certificate", CHECKER)
checker = importlib.util.module_from_spec(spec)
spec.loader.exec_module(checker)

# name: arguments of generate, of build, and of certify
GAUSS = "gaussian -N 6 -d 4 -n 2:4"
CASES = {
    "grid": (f"{GAUSS} -m 1:2 --grid f16", "--writer grid", ""),
    "sorted": (f"{GAUSS} -m 1:2", "--writer sorted", ""),
    "diamond": (f"{GAUSS} -m 1 --grid f16", "--writer diamond", "--attention softmax --tau 0.5"),
    "diamond-sorted": (f"{GAUSS} -m 1", "--writer diamond-sorted", ""),
    "cube": ("gaussian -N 6 -d 7 -n 2:4 -m 1 --grid f16", "--writer cube", ""),
    "cubeoff": ("gaussian -N 6 -d 7 -n 2:4 -m 1", "--writer cubeoff --attention softmax --tau 3", ""),
    "offgrid": (f"{GAUSS} -m 1", "--writer offgrid", ""),
    "argmax": (f"{GAUSS} -m 1 --grid f16 --input-grid f16", "--writer argmax", ""),
    "kinks": ("lattice -N 8 -d 3", "", ""),
    "folds": ("equal-means -N 6 -d 3", "--front folds", ""),
    "tree": ("equal-means -N 5 -d 3", "--front tree", ""),
    "norm": (f"{GAUSS} -m 1 --grid f16", "--optimise norm", ""),
    "hard-floats": ("hard-floats -N 6 -d 4", "", ""),
    "f32": (f"{GAUSS} -m 1:2 --grid f16", "--dtype f32", ""),
    "f32-sorted": (f"{GAUSS} -m 1 --grid f32", "--dtype f32 --writer sorted", "--attention softmax"),
    "displacement": ("gaussian -N 20 -d 3 -n 3 -m 1 --grid f16", "--front displacement --dtype f32", ""),
    "published": ("gaussian -N 3 -d 3 -n 3 -m 1:2", "--construction published", ""),
    "published-shared": ("vocabulary -N 5 -d 3 -n 3 -m 1:2 --vocabulary 6", "--construction published", ""),
    "published-softmax": ("gaussian -N 3 -d 3 -n 3 -m 1",
                          "--construction published --attention softmax --tau 2", ""),
}


def run(*arguments):
    return subprocess.run(arguments, capture_output=True, text=True, check=False)


def program(*arguments):
    done = run(PROGRAM, *arguments)
    if done.returncode != 0:
        raise AssertionError(f"exactformer {' '.join(arguments)}: {done.stderr}")
    return done


def confirm(certificate, model, data, *options):
    return run(sys.executable, CHECKER, certificate, model, data, *options)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write(path, raw):
    with open(path, "wb") as f:
        f.write(raw)


def write_json(path, value):
    write(path, json.dumps(value).encode())


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def make(self, name, extension="npz"):
        """Build and certify a case; the paths of certificate, model and data."""
        generate, build, certify = CASES[name]
        data, model, certificate = (self.path(f"{name}.{e}") for e in (extension, "safetensors", "json"))
        if extension == "safetensors":
            data = self.path(f"{name}-data.safetensors")
        program("generate", *generate.split(), "--seed", "3", "-o", data, "-q")
        program("build", data, *build.split(), "-o", model, "-q")
        plain = self.path(f"{name}-plain.safetensors")
        program("export", model, "-o", plain, "-q")
        os.replace(plain, model)
        program("certify", model, data, *certify.split(), "-o", certificate, "-q")
        return certificate, model, data

    def forge(self, certificate, model, data):
        """Hashes that fit, and yes twice."""
        forged = json.loads(read(certificate))
        for name, path in (("model", model), ("dataset", data)):
            forged[name].update(sha256=hashlib.sha256(read(path)).hexdigest(), bytes=os.path.getsize(path))
        for claim in forged["claims"].values():
            claim["answer"] = "yes"
        write_json(certificate, forged)

    def reject(self, files, text, *options):
        done = confirm(*files, *options)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn(text, done.stdout)


class Confirmed(Folder):
    def confirm_case(self, name):
        extension = ("npz", "jsonl", "safetensors")[list(CASES).index(name) % 3]
        return confirm(*self.make(name, extension))

    def test_every_construction(self):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for name, done in zip(CASES, pool.map(self.confirm_case, CASES)):
                with self.subTest(name):
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                    self.assertIn("confirmed", done.stdout)

    def test_a_sample_says_what_was_left_out(self):
        done = confirm(*self.make("displacement"), "--sample", "5")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("ieee: 5 of 5 sequences proved again, 15 not looked at", done.stdout)

    def test_positions(self):
        data, model, certificate = (self.path(n) for n in ("p.jsonl", "p.safetensors", "p.json"))
        write(data, b'{"x": [[1, 2], [1, 2], [3, 1]], "y": [[5, 6]]}\n{"x": [[1, 2], [3, 1]], "y": [[7, 8]]}\n')
        program("build", data, "--positions", "append", "-o", model, "-q")
        done = run(PROGRAM, "certify", model, data, "-o", certificate, "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(confirm(certificate, model, data).returncode, 0)

    def test_repeated_pairs_count_once(self):
        data, model, certificate = (self.path(n) for n in ("r.jsonl", "r.safetensors", "r.json"))
        write(data, b'{"x": [[1, 2], [3, 1]], "y": [[5, 6]]}\n{"x": [[3, 1], [1, 2]], "y": [[5, 6]]}\n')
        program("build", data, "-o", model, "-q")
        program("certify", model, data, "-o", certificate, "-q")
        self.assertEqual(confirm(certificate, model, data).returncode, 0)


class Tampered(Folder):
    def tensor(self, model, name):
        """Where a tensor of binary64 numbers lies in the file, and its values."""
        raw = bytearray(read(model))
        start = 8 + int.from_bytes(raw[:8], "little")
        a, b = json.loads(raw[8:start])[name]["data_offsets"]
        return raw, start + a, list(struct.unpack(f"<{(b - a) // 8}d", raw[start + a:start + b]))

    def change(self, model, name, new):
        """Replace the largest entry of a tensor."""
        raw, at, values = self.tensor(model, name)
        i = max(range(len(values)), key=lambda k: abs(values[k]))
        values[i] = new(values[i])
        raw[at:at + 8 * len(values)] = struct.pack(f"<{len(values)}d", *values)
        write(model, raw)

    def test_weights(self):
        up = lambda v: math.nextafter(v, math.inf)
        for name, new in (("ff.b", up), ("ff.W", up), ("ff.U", lambda v: -v), ("ff.eta", lambda v: v / 2)):
            with self.subTest(name):
                files = self.make("sorted")
                self.change(files[1], name, new)
                self.reject(files, "sha256")
                self.forge(*files)
                self.reject(files, "sequence")

    def test_targets(self):
        certificate, model, data = self.make("sorted", "jsonl")
        rows = [json.loads(line) for line in read(data).splitlines()]
        rows[2]["y"][0][1] = math.nextafter(rows[2]["y"][0][1], 0)
        write(data, "".join(json.dumps(r) + "\n" for r in rows).encode())
        self.reject((certificate, model, data), "sha256")
        self.forge(certificate, model, data)
        self.reject((certificate, model, data), "real: sequence 2: the outputs are not the targets")

    def test_blocks(self):
        certificate, model, data = self.make("diamond")
        raw, at, eta = self.tensor(model, "ff.eta")
        W, where, values = self.tensor(model, "ff.W")
        per = len(values) // len(eta)
        del raw, at
        values[-per:] = [0.0] * per  # the last block writes nothing
        W[where:where + 8 * len(values)] = struct.pack(f"<{len(values)}d", *values)
        write(model, W)
        self.forge(certificate, model, data)
        self.reject((certificate, model, data), "the outputs are not the targets")

    def test_certificates(self):
        files = self.make("grid")
        good = json.loads(read(files[0]))
        for path, value in ((("model", "sha256"), "0" * 64), (("dataset", "sha256"), "0" * 64),
                            (("model", "dtype"), "F32"), (("model", "blocks"), 1), (("model", "order"), "sa-ff"),
                            (("dataset", "sequences"), 7), (("dataset", "targets"), 1),
                            (("claims", "ieee", "answer"), "unknown"), (("claims", "real", "answer"), "no")):
            with self.subTest(path):
                bad = copy.deepcopy(good)
                place = bad
                for key in path[:-1]:
                    place = place[key]
                place[path[-1]] = value
                write_json(files[0], bad)
                self.reject(files, path[1])

    def test_temperatures(self):
        files = self.make("published-softmax")
        bad = json.loads(read(files[0]))
        for claim in bad["claims"].values():
            self.assertGreaterEqual(claim["tau_max"], 2)
            claim["tau_max"] *= 16
        write_json(files[0], bad)
        self.reject(files, "is only known to lie in")
        for claim in bad["claims"].values():
            claim["tau_max"] = None
        write_json(files[0], bad)
        self.reject(files, "depends on the temperature")


class Forged(Folder):
    """Models by hand that are exact in real arithmetic, with certificates that say so of every order."""

    def verdict(self, eta, column, r, x, y, U=0.0):
        w = len(r)
        tensors = {"ff.eta": ([1], [eta]), "ff.W": ([1, 1, w], column), "ff.U": ([1, w, 1], [U] * w),
                   "ff.b": ([1, w], r), "sa.rho": ([1], [1.0])}
        for m in "AV":
            tensors.update({f"sa.{m}.alpha": ([1], [0.0]), f"sa.{m}.left": ([1, 1], [0.0]),
                            f"sa.{m}.right": ([1, 1], [0.0])})
        header, body = {"__metadata__": {"format": "exactformer", "version": "1", "config": "{}"}}, b""
        for name, (shape, values) in tensors.items():
            raw = struct.pack(f"<{len(values)}d", *values)
            header[name] = {"dtype": "F64", "shape": shape, "data_offsets": [len(body), len(body) + len(raw)]}
            body += raw
        text = json.dumps(header).encode()
        model, data, certificate = (self.path(n) for n in ("m.safetensors", "m.jsonl", "m.json"))
        write(model, struct.pack("<Q", len(text)) + text + body)
        write(data, json.dumps({"x": [[x]], "y": [[y]]}).encode())
        claim = {"answer": "yes", "tau_min": None, "tau_max": None}
        write_json(certificate, {
            "model": {"dtype": "F64", "d": 1, "blocks": 1, "width": w, "order": "ff-sa", "causal": False,
                      "attention": "hardmax", "tau": None},
            "dataset": {"sequences": 1, "tokens": 1, "targets": 1},
            "claims": {"real": dict(claim), "ieee": dict(claim, conditions={"subnormals": "absent", "exp_ulp": None})}})
        self.forge(certificate, model, data)
        done = confirm(certificate, model, data)
        self.assertIn("real: 1 of 1", done.stdout, done.stderr)
        return done

    def test_exact(self):
        done = self.verdict(1.0, [3.0, -2.0], [1.0, 0.5], 1.0, 3.0)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_orders(self):
        a = 1.0 + 2.0 ** -52
        for column, r, y in (([1e16, -1e16, 1.0], [1.0] * 3, 1.0),  # one order rounds
                             ([a, -a], [a, a], 0.0),  # a fused product differs
                             ([2.0 ** 1023, -2.0 ** 1023, 2.0 ** 1023], [1.0] * 3, 2.0 ** 1023)):  # one overflows
            with self.subTest(column):
                done = self.verdict(0.0, column, r, 1.0, y)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn("ieee: 0 of 1", done.stdout)

    def test_infinity_times_zero(self):
        done = self.verdict(1.0, [0.0], [0.0], 2.0, 2.0, U=2.0 ** 1023)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("overflow", done.stdout)

    def test_subnormal(self):
        for U, x in ((2.0 ** -1060, 3.0), (2.0 ** -1000, 2.0 ** -60)):
            done = self.verdict(0.0, [2.0 ** 1000], [0.0], x, U * x * 2.0 ** 1000 if U > 2.0 ** -1010 else 3 * 2.0 ** -60, U=U)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("subnormal numbers may occur", done.stdout)


class Mutants(Folder):
    def test_spoiled_models(self):
        done = run(XF_MUTANTS, self.folder, str(N_MUTANTS), "5")
        self.assertEqual(done.returncode, 0, done.stderr)
        confirmed = rejected = 0
        for line in done.stdout.splitlines():
            known = json.loads(line)
            raw = read(self.path(f"{known['number']}.safetensors"))
            model = checker.Model(raw)
            config = json.loads(checker.read_safetensors(raw)[0]["config"])
            data = self.path(f"{known['number']}.npz")
            pairs = checker.read_dataset(data, read(data))
            softmax = config["attention"] == "softmax"
            for sense, numbers in (("real", checker.Reals()), ("ieee", checker.Floats(*model.format, 4))):
                evaluation = checker.Evaluation(model, numbers, softmax, Fraction(config["tau"]) if softmax else None)
                proved = not any(checker.failure(evaluation, x, y) for x, y in pairs)
                confirmed += proved
                rejected += not proved
                refuted = known["rational"] is False if sense == "real" else known["inexact"]
                with self.subTest(**known):
                    self.assertFalse(proved and refuted, "proved what is wrong")
                    self.assertTrue(proved or known[sense] != "yes", "the certifier says yes")
        self.assertGreater(confirmed, N_MUTANTS / 4)
        self.assertGreater(rejected, N_MUTANTS / 4)


class Files(Folder):
    X = [(1.5, -2.0), (0.25, 3.0), (7.0, -0.5), (1.0, 2.0), (3.0, 4.0), (5.0, 6.0)]
    Y = [(0.5, -1.0), (2.0, 0.0), (-3.0, 8.0), (9.0, 10.0)]

    def test_containers(self):
        pairs = [(self.X[0:2], self.Y[0:1]), (self.X[2:3], self.Y[1:2]), (self.X[3:6], self.Y[2:4])]
        rectangular = [(self.X[0:2], self.Y[0:1]), (self.X[4:6], self.Y[1:2])]
        for name in ("f8.npz", "f8_big_fortran_deflated.npz", "f4_v3.npz", "f2_fortran.npz", "f2_big.npz", "savez.npz",
                     "rect.npz", "rect_fortran.npz", "f64.safetensors", "f32.safetensors", "f16.safetensors",
                     "rect.safetensors"):
            with self.subTest(name):
                path = os.path.join(GOLDEN, name)
                self.assertEqual(checker.read_dataset(path, read(path)), rectangular if "rect" in name else pairs)
        for name in ("i1.npz", "i8_big.npz", "i16.safetensors"):
            path = os.path.join(GOLDEN, name)
            self.assertEqual(checker.read_dataset(path, read(path))[0][0], [(1.0, -2.0), (0.0, 3.0)])

    def test_exit_statuses(self):
        certificate, model, data = self.make("grid")
        self.assertEqual(confirm(certificate, model, self.path("nothing.npz")).returncode, 4)
        self.assertEqual(run(sys.executable, CHECKER, certificate).returncode, 2)
        write(model, read(model)[:100])
        done = confirm(certificate, model, data)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1))

    def broken(self, files, path, text):
        """Status 3 and one line that names the file and says what is wrong, without a word of Python's."""
        done = confirm(*files)
        self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
        self.assertTrue(done.stderr.startswith(f"check_certificate: {path}: "), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(text, done.stderr)
        self.assertNotRegex(done.stderr, "Error|Traceback|line [0-9]+, in|object has no|argument")

    def test_broken_certificates(self):
        files = self.make("grid")
        good = read(files[0])
        whole, finite = "is not a whole number below 2^63", "is not a finite number above 0 or null"
        for raw, text in ((b"", "the file ends too early"), (good[:len(good) // 2], "the file ends too early"),
                          (b"\xff\xfe", "no UTF-8"), (b"[" * 10 ** 6, "nested too deeply"),
                          (b"yes", "line 1, column 1"),
                          (b"[]", "the certificate is not an object"), (b"null", "the certificate is not an object"),
                          (b"{}", "model is missing"), (good + b"{}", "not JSON"),
                          (b'{"model": ' + b"9" * 10 ** 5 + b"}", "thousands of digits")):
            with self.subTest(raw[:20]):
                write(files[0], raw)
                self.broken(files, files[0], text)
        for path, value, text in (
                ("model", 3, "model is not an object"), ("claims.real", None, "claims.real is not an object"),
                ("claims.ieee.conditions", [], "claims.ieee.conditions is not an object"),
                ("model.sha256", 5, "model.sha256 is not a SHA-256"), ("dataset.sha256", "0", "dataset.sha256 is not"),
                ("model.sha256", "\ud800" * 64, "model.sha256 is not a SHA-256"),
                ("model.dtype", "F16", "is not one of F64, F32"), ("model.order", {}, "is not one of"),
                ("model.causal", 1, "is not true or false"), ("model.blocks", "7", whole), ("model.d", 2.0, whole),
                ("model.width", True, whole), ("model.blocks", 10 ** 30, whole), ("dataset.tokens", -1, whole),
                ("dataset.sequences", math.nan, "NaN is no number of JSON"),
                ("dataset.targets", math.inf, "Infinity is no number of JSON"),
                ("claims.real.answer", "perhaps", "is not one of yes, no, unknown"),
                ("claims.real.tau_max", "1", finite), ("claims.real.tau_max", 0, finite),
                ("claims.ieee.tau_max", -1.5, finite), ("claims.ieee.tau_max", 10 ** 400, finite),
                ("claims.ieee.conditions.exp_ulp", 10 ** 9, "is not a whole number from 1 to 1024 or null"),
                ("claims.ieee.conditions.subnormals", None, "is not one of absent, possible")):
            with self.subTest(f"{path}: {value!r}"):
                bad = json.loads(good)
                *way, last = path.split(".")
                place = bad
                for key in way:
                    place = place[key]
                place[last] = value
                write_json(files[0], bad)
                self.broken(files, files[0], text)
                del place[last]
                write_json(files[0], bad)
                self.broken(files, files[0], f"{path} is missing")
        write(files[0], good.replace(b'"tau_max": null', b'"tau_max": 1e999', 1))
        self.broken(files, files[0], finite)

    def test_broken_models_and_data(self):
        certificate, model, data = files = self.make("grid", "safetensors")
        good_model, good_data = read(model), read(data)
        for path, good, what in ((model, good_model, "tensor"), (data, good_data, "tensor")):
            for raw, text in ((b"", "ends within its header"), (b"\xff" * 50, "ends within its header"),
                              (good[:100], "ends within its header"), (good[:-8], f"a {what} lies outside the file"),
                              (struct.pack("<Q", 4) + b"[{}]", "damaged, or no ")):
                with self.subTest(f"{path} {raw[:9]}"):
                    write(path, raw)
                    self.broken(files, path, text)
            write(path, good)
        for old, new, text in ((b'"ff.eta"', b'"ff.eat"', "missing or have the wrong shape"),
                               (b'"shape":[', b'"shape":[-', "does not fit")):
            with self.subTest(new):
                self.assertIn(old, good_model)
                length = int.from_bytes(good_model[:8], "little") + len(new) - len(old)
                write(model, struct.pack("<Q", length) + good_model[8:].replace(old, new, 1))
                self.broken(files, model, text)
        write(model, good_model)
        for name, raw, text in (("a.jsonl", b'{"x": [[1, 2]], "y": [[1]]}', "differ in their number of coordinates"),
                                ("b.jsonl", b'{"x": [[1, 2]]}', "damaged, or no data set"),
                                ("c.jsonl", b'{"x": [[1, 1e999]], "y": [[1, 2]]}', "not a finite binary64 number"),
                                ("d.jsonl", b'{"x": [[1]], "y": [[2]]}', "1 coordinates, those of the model 4"),
                                ("e.npz", b"PK\x03\x04", "damaged, or no data set")):
            with self.subTest(name):
                write(self.path(name), raw)
                self.broken((certificate, model, self.path(name)), self.path(name), text)

    def test_another_layout(self):
        certificate, model, data = self.make("grid")
        write(model, struct.pack("<Q", 2) + b"{}")
        done = confirm(certificate, model, data)
        self.assertEqual(done.returncode, 3)
        self.assertIn("export", done.stderr)


class Numbers(unittest.TestCase):
    def test_rounding_is_that_of_the_machine(self):
        double, single = checker.Floats(53, -1022), checker.Floats(24, -126)
        for q in (Fraction(1, 3), Fraction(-10**300, 7), Fraction(5, 10**320), Fraction(2**54 + 2), Fraction(1, 2**1075)):
            self.assertEqual(double.round(q), Fraction(float(q)))
        for q in (Fraction(1, 3), Fraction(10**30, 7), Fraction(3, 2**150), Fraction(2**25 + 2)):
            self.assertEqual(single.round(q), Fraction(struct.unpack("f", struct.pack("f", float(q)))[0]))

    def test_exponential(self):
        for x in (Fraction(0), Fraction(-1, 3), Fraction(-1), Fraction(-700), Fraction(-799), Fraction(-5000)):
            bound = checker.exp_above(x)
            self.assertGreaterEqual(bound, Fraction(math.exp(x)) * (1 - Fraction(1, 2**50)))
            self.assertLessEqual(bound, max(Fraction(math.exp(x)) * (1 + Fraction(1, 2**50)), checker.two(-1022)))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
