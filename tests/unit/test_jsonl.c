/* .jsonl data sets: one pair a line. */
#include "unit/file_support.h"

#include <locale.h>
#include <math.h>

static const xf_dataset_options inputs = {.inputs_only = 1};

static void load_text(xf_dataset *out, const char *text, const xf_dataset_options *options) {
    xf_error error;
    if (xf_dataset_load(out, write_text("text.jsonl", text), options, &error) != XF_OK)
        fail_msg("%s", error.message);
}

static void test_lines(void **state) {
    (void)state;
    xf_dataset data;
    load_text(&data,
              "\n{\"x\": [[1, 2.5], [-3e2, 0]], \"y\": [[-0.0, 1]]}\r\n \t\r\n\n"
              "{\"y\": [[1e0, 9007199254740992]], \"x\": [[4, -9007199254740994]]}",
              NULL);
    static const double x[6] = {1, 2.5, -300, 0, 4, -0x1p53 - 2}, y[4] = {0, 1, 1, 0x1p53};
    assert_int_equal(data.n_sequences, 2);
    assert_memory_equal(data.x, x, sizeof x);
    assert_memory_equal(data.y, y, sizeof y);
    assert_int_equal(data.x_offsets[1], 2);
    xf_dataset_clear(&data);
}

static void test_inputs_only(void **state) {
    (void)state;
    xf_dataset data;
    load_text(&data, "{\"x\": [[1]], \"y\": \"anything\"}\n{\"x\": [[1]]}\n", &inputs);
    assert_int_equal(data.n_sequences, 2); /* equal inputs each have an output */
    assert_null(data.y);
    assert_round_trip(&data, "inputs.jsonl");
    xf_dataset_clear(&data);
}

static void test_broken_lines(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"", "the file has no lines"},
        {" \n\n", "the file has no lines"},
        {"{\"x\": [[1]], \"y\": [[1]]}\n\n{\"x\"", "line 3 is not valid JSON"},
        {"[1]", "line 1 is not a JSON object"},
        {"{\"x\": [[1]]}", "line 1 (sequence 0) has no key 'y' with a nonempty"},
        {"{\"y\": [[1]]}", "line 1 (sequence 0) has no key 'x'"},
        {"{\"x\": [], \"y\": [[1]]}", "line 1 (sequence 0) has no key 'x' with a nonempty"},
        {"{\"x\": 1, \"y\": [[1]]}", "line 1 (sequence 0) has no key 'x'"},
        {"{\"x\": [1], \"y\": [[1]]}", "token 0 of 'x' is not an array of numbers"},
        {"{\"x\": [[]], \"y\": [[1]]}", "token 0 of 'x' is empty"},
        {"{\"x\": [[1], [2, 3]], \"y\": [[1]]}", "token 1 of 'x' has another number of coord"},
        {"{\"x\": [[1]], \"y\": [[1, 2]]}", "token 0 of 'y' has another number of coordinates"},
        {"{\"x\": [[true]], \"y\": [[1]]}", "has a coordinate that is not a number"},
        {"{\"x\": [[null]], \"y\": [[1]]}", "has a coordinate that is not a number"},
        {"{\"x\": [[\"1\"]], \"y\": [[1]]}", "has a coordinate that is not a number"},
        {"{\"x\": [[9007199254740993]], \"y\": [[1]]}", "an integer that is not exact"},
        {"{\"x\": [[9223372036854775807]], \"y\": [[1]]}", "an integer that is not exact"},
        {"{\"x\": [[92233720368547758080]], \"y\": [[1]]}", "write a large integer with an exp"},
        {"{\"x\": [[1e999]], \"y\": [[1]]}", "line 1 is not valid JSON: real number overflow"},
        {"{\"x\": [[NaN]], \"y\": [[1]]}", "line 1 is not valid JSON: invalid token"},
        {"{\"x\": [[1,5]], \"x\": [[1]]}", "duplicate object key"},
        {"{\"x\": [[1]], \"y\": [[1]]} {}", "line 1 is not valid JSON"},
        {"{\"x\": [[1]], \"y\": [[1], [2]]}", "sequence 0 has 2 targets but only 1 input"},
        {"\"\x1b\n", "line 1 is not valid JSON"},
        {"\xff\n", "line 1 is not valid JSON"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_load_fails(write_text("bad.jsonl", cases[i][0]), NULL, XF_ERR_DATA, cases[i][1]);
}

static void test_hostile_bytes(void **state) {
    (void)state;
    static char deep[100000];
    memset(deep, '[', sizeof deep);
    assert_load_fails(write_file("deep.jsonl", deep, sizeof deep), NULL, XF_ERR_DATA,
                      "maximum parsing depth");
    memset(deep, 0, sizeof deep);
    assert_load_fails(write_file("nul.jsonl", deep, sizeof deep), NULL, XF_ERR_DATA,
                      "line 1 is not valid JSON");
    assert_load_fails(temp_path("missing.jsonl"), NULL, XF_ERR_IO, "cannot open: No such file");
    assert_int_equal(mkdir(temp_path("dir.jsonl"), 0755), 0);
    assert_load_fails(temp_path("dir.jsonl"), NULL, XF_ERR_IO, "it is a directory");
}

static void count_note(void *context, const char *text) {
    (*(int *)context)++;
    assert_string_equal(text, "unknown key 'id' on line 1 is ignored");
}

static void test_unknown_keys_are_noted_once(void **state) {
    (void)state;
    int notes = 0;
    xf_dataset data;
    const xf_dataset_options options = {.note = count_note, .note_context = &notes};
    load_text(&data,
              "{\"id\": 7, \"x\": [[1]], \"y\": [[1]]}\n{\"id\": 8, \"x\": [[2]], \"y\": [[1]]}",
              &options);
    assert_int_equal(notes, 1);
    xf_dataset_clear(&data);
}

/* A line longer than the reader's block, then a short one. */
static void test_long_lines(void **state) {
    (void)state;
    enum { TOKENS = 30000 };
    char *text = malloc(TOKENS * 8 + 100);
    size_t length = (size_t)sprintf(text, "{\"x\": [");
    for (int i = 0; i < TOKENS; i++)
        length += (size_t)sprintf(text + length, "%s[%d]", i ? "," : "", i);
    sprintf(text + length, "], \"y\": [[0]]}\n{\"x\": [[1]], \"y\": [[2]]}\n");
    xf_dataset data;
    load_text(&data, text, NULL);
    assert_int_equal(data.n_sequences, 2);
    assert_int_equal(data.n_tokens, TOKENS + 1);
    assert_true(data.x[TOKENS - 1] == TOKENS - 1);
    assert_round_trip(&data, "long.jsonl");
    xf_dataset_clear(&data);
    free(text);
}

static void test_round_trips(void **state) {
    (void)state;
    static const char *const locales[] = {"C", "de_DE.UTF-8"};
    xfi_rng rng;
    xfi_rng_seed(&rng, 3, 0);
    for (int i = 0; i < 40; i++) {
        xf_dataset data;
        setlocale(LC_ALL, locales[i % 2]); /* stays as it was if not installed */
        random_dataset(&data, &rng, i % 4 != 0);
        assert_round_trip(&data, "data.jsonl");
        xf_dataset_clear(&data);
    }
    setlocale(LC_ALL, "C");
}

static void test_outputs(void **state) {
    (void)state;
    static const int64_t offsets[3] = {0, 1, 3};
    double y[3] = {1.5, -2, 1e300};
    xf_error error;
    assert_int_equal(xf_outputs_save(temp_path("y.jsonl"), 2, 1, y, offsets, &error), XF_OK);
    size_t size;
    char *text = read_file(temp_path("y.jsonl"), &size);
    static const char wanted[] = "{\"y\": [[1.5]]}\n{\"y\": [[-2], [1e+300]]}\n";
    assert_int_equal(size, strlen(wanted));
    assert_memory_equal(text, wanted, size);
    free(text);
    y[2] = (double)NAN;
    assert_int_equal(xf_outputs_save(temp_path("y.jsonl"), 2, 1, y, offsets, &error), XF_ERR_DATA);
    assert_contains(error.message, "sequence 1, token 1, coordinate 0 is not finite");
    assert_int_equal(error.token, 1);
    assert_int_equal(count_files(), 1);
}

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    sweep_allocations("sweep.jsonl", 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FILE_TEST(test_lines),
        FILE_TEST(test_inputs_only),
        FILE_TEST(test_broken_lines),
        FILE_TEST(test_hostile_bytes),
        FILE_TEST(test_unknown_keys_are_noted_once),
        FILE_TEST(test_long_lines),
        FILE_TEST(test_round_trips),
        FILE_TEST(test_outputs),
        FILE_TEST(test_every_allocation_may_fail),
    };
    return RUN_FILE_TESTS(tests);
}
