/* .npz data sets: files that NumPy wrote, files that nobody should write, round trips. */
#include "unit/file_support.h"

#include <math.h>

#define GOLDEN "tests/golden/datasets/"

/* The values in tests/golden/datasets/make_dataset_files.py. */
static const double X[12] = {1.5, -2, 0.25, 3, 7, -0.5, 1, 2, 3, 4, 5, 6};
static const double Y[8] = {0.5, -1, 2, 0, -3, 8, 9, 10};
static const double INTEGERS_X[12] = {1, -2, 0, 3, 7, -5, 1, 2, 3, 4, 5, 6};
static const double INTEGERS_Y[8] = {5, -1, 2, 0, -3, 8, 9, 10};

static int notes;
static char last_note[256];

static void count_note(void *context, const char *text) {
    (void)context;
    notes++;
    snprintf(last_note, sizeof last_note, "%s", text);
}

static const xf_dataset_options with_notes = {.note = count_note};

static void load(xf_dataset *out, const char *path) {
    xf_error error;
    notes = 0;
    if (xf_dataset_load(out, path, &with_notes, &error) != XF_OK)
        fail_msg("%s", error.message);
}

static void assert_ragged(const char *path, const double *x, const double *y) {
    static const int64_t x_offsets[4] = {0, 2, 3, 6}, y_offsets[4] = {0, 1, 2, 4};
    xf_dataset data;
    load(&data, path);
    assert_int_equal(data.n_sequences, 3);
    assert_int_equal(data.d, 2);
    assert_int_equal(data.n_tokens, 6);
    assert_int_equal(data.n_targets, 4);
    assert_int_equal(data.positions, -1);
    assert_memory_equal(data.x, x, 12 * 8);
    assert_memory_equal(data.y, y, 8 * 8);
    assert_memory_equal(data.x_offsets, x_offsets, sizeof x_offsets);
    assert_memory_equal(data.y_offsets, y_offsets, sizeof y_offsets);
    xf_dataset_clear(&data);
}

static void test_files_of_numpy(void **state) {
    (void)state;
    assert_ragged(GOLDEN "f8.npz", X, Y);
    assert_ragged(GOLDEN "f8_big_fortran_deflated.npz", X, Y);
    assert_ragged(GOLDEN "f4_v3.npz", X, Y);
    assert_ragged(GOLDEN "f2_fortran.npz", X, Y);
    assert_ragged(GOLDEN "f2_big.npz", X, Y);
    assert_ragged(GOLDEN "i1.npz", INTEGERS_X, INTEGERS_Y);
    assert_ragged(GOLDEN "i8_big.npz", INTEGERS_X, INTEGERS_Y);
    assert_int_equal(notes, 0);
    assert_ragged(GOLDEN "savez.npz", X, Y);
    assert_int_equal(notes, 1);
    assert_string_equal(last_note, "unknown array 'comment' is ignored");
}

static void test_rectangles_of_numpy(void **state) {
    (void)state;
    static const double x[8] = {1.5, -2, 0.25, 3, 3, 4, 5, 6};
    static const char *const paths[] = {GOLDEN "rect.npz", GOLDEN "rect_fortran.npz"};
    for (int i = 0; i < 2; i++) {
        xf_dataset data;
        load(&data, paths[i]);
        assert_int_equal(data.n_sequences, 2);
        assert_memory_equal(data.x, x, sizeof x);
        assert_memory_equal(data.y, Y, 4 * 8);
        assert_int_equal(data.x_offsets[2], 4);
        assert_int_equal(data.y_offsets[2], 2);
        xf_dataset_clear(&data);
    }
}

static void test_types_that_are_refused(void **state) {
    (void)state;
    assert_load_fails(GOLDEN "bool.npz", NULL, XF_ERR_DATA, "'x' has type |b1, which cannot");
    assert_load_fails(GOLDEN "object.npz", NULL, XF_ERR_DATA, "'x' has type |O");
    assert_load_fails(GOLDEN "complex.npz", NULL, XF_ERR_DATA, "'x' has type <c16");
    assert_load_fails(GOLDEN "structured.npz", NULL, XF_ERR_DATA, "not that of a plain numeric");
    assert_load_fails(GOLDEN "bomb.npz", NULL, XF_ERR_DATA, "size is not what its header implies");
}

static void test_round_trips(void **state) {
    (void)state;
    xfi_rng rng;
    xfi_rng_seed(&rng, 1, 0);
    for (int i = 0; i < 40; i++) {
        xf_dataset data;
        random_dataset(&data, &rng, i % 4 != 0);
        assert_round_trip(&data, "data.npz");
        xf_dataset_clear(&data);
    }
}

static void test_many_elements(void **state) {
    (void)state;
    enum { N = 5000 }; /* more than one chunk of the converters and of libzip */
    static double x[N * 2];
    int64_t offsets[2] = {0, N};
    xf_dataset data;
    for (int i = 0; i < 2 * N; i++)
        x[i] = i / 3.0;
    assert_int_equal(xf_dataset_from_arrays(&data, 1, 2, x, offsets, x, offsets, NULL, NULL), 0);
    assert_round_trip(&data, "many.npz");
    assert_round_trip(&data, "many.safetensors");
    xf_dataset_clear(&data);
}

static void test_outputs(void **state) {
    (void)state;
    static const int64_t offsets[3] = {0, 1, 3};
    static const double y[3] = {1.0, (double)INFINITY, 2.0};
    xf_error error;
    assert_int_equal(xf_outputs_save(temp_path("y.npz"), 2, 1, y, offsets, &error), XF_OK);
    assert_load_fails(temp_path("y.npz"), NULL, XF_ERR_DATA, "there is no array 'x'");
    assert_int_equal(xf_outputs_save(temp_path("y.npz"), 0, 1, y, offsets, &error),
                     XF_ERR_ARGUMENT);
    assert_int_equal(xf_outputs_save(temp_path("y.txt"), 2, 1, y, offsets, &error),
                     XF_ERR_ARGUMENT);
    assert_contains(error.message, "must end in .npz, .safetensors or .jsonl");
}

/* --- archives by hand -------------------------------------------------------------- */

#define DESCR_F8 "{'descr': '<f8', 'fortran_order': False, 'shape': "

static const double VALUES[4] = {1, 2, 3, 4};

/* An archive with the array x alone, from its dictionary and the first `size` bytes of VALUES. */
static const char *x_file(const char *dictionary, size_t size) {
    static byte_buffer x;
    make_npy(&x, dictionary, VALUES, size);
    const zip_member members[] = {{.name = "x.npy", .content = &x}};
    return write_zip("hand.npz", members, 1);
}

static void assert_x_fails(const char *dictionary, size_t size, const char *part) {
    const xf_dataset_options inputs = {.inputs_only = 1};
    assert_load_fails(x_file(dictionary, size), &inputs, XF_ERR_DATA, part);
}

static void test_spellings_of_the_header(void **state) {
    (void)state;
    static const char *const good[] = {
        DESCR_F8 "(1, 2, 2), }            \n",
        "{\"shape\":(1L,2L,2L),\"descr\":\"<f8\",\"fortran_order\":False}",
        " { 'fortran_order' : False , 'shape' : ( 2 , 1 , 2 , ) , 'descr' : '<f8' , } ",
    };
    const xf_dataset_options inputs = {.inputs_only = 1};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        xf_dataset data;
        xf_error error;
        if (xf_dataset_load(&data, x_file(good[i], 32), &inputs, &error) != XF_OK)
            fail_msg("%s", error.message);
        assert_memory_equal(data.x, VALUES, 32);
        xf_dataset_clear(&data);
    }
}

static void test_broken_headers(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",
        "[]..",
        "{}..",
        "{'descr': '<f8'}",
        DESCR_F8 "(1, 2, 2)",
        DESCR_F8 "(1, 2, 2), 'a': 1}",
        DESCR_F8 "(1, 2, 2), 'descr': '<f8'}",
        DESCR_F8 "(1, -2, 2)}",
        DESCR_F8 "(1 2)}",
        DESCR_F8 "(1, 2, 2)} x",
        DESCR_F8 "[1, 2, 2]}",
        DESCR_F8 "(1,1,1,1,1,1,1,2,2)}",
        DESCR_F8 "(99999999999999999999,)}",
        "{'descr': '<f8', 'fortran_order': 0, 'shape': (4,)}",
        "{'descr': '<f\\8', 'fortran_order': True, 'shape': (4,)}",
        "{'descr': '<f8",
        "{'descr' '<f8'}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_x_fails(bad[i], 32, "header");
}

static void test_sizes_that_lie(void **state) {
    (void)state;
    assert_x_fails(DESCR_F8 "(1, 2, 2)}", 24, "not what its header implies");
    assert_x_fails(DESCR_F8 "(1, 1, 2)}", 32, "not what its header implies");
    assert_x_fails(DESCR_F8 "(1152921504606846976, 1, 1)}", 32, "not what its header implies");
    assert_x_fails(DESCR_F8 "(4611686018427387904, 4, 1)}", 32, "its shape overflows");
    assert_x_fails(
        "{'descr': '<c16', 'fortran_order': False, 'shape': (4611686018427387904, 1, 1)}", 32,
        "has type <c16");
    assert_x_fails(DESCR_F8 "(0, 4611686018427387904, 4611686018427387904)}", 0, "at least one");
}

static void test_shapes(void **state) {
    (void)state;
    assert_x_fails(DESCR_F8 "(2, 2)}", 32, "has 2 dimensions; without x_offsets");
    assert_x_fails(DESCR_F8 "(4,)}", 32, "has 1 dimensions");
    assert_x_fails(DESCR_F8 "()}", 8, "has 0 dimensions");
    assert_x_fails(DESCR_F8 "(0, 2, 2)}", 0, "at least one sequence");
    assert_x_fails(DESCR_F8 "(2, 0, 2)}", 0, "gives every sequence 0 tokens");
    assert_x_fails(DESCR_F8 "(2, 2, 0)}", 0, "at least one coordinate");
}

static void test_numpy_prefix(void **state) {
    (void)state;
    const xf_dataset_options inputs = {.inputs_only = 1};
    static byte_buffer x;
    const zip_member members[] = {{.name = "x.npy", .content = &x}};
    make_npy(&x, DESCR_F8 "(1, 2, 2)}", VALUES, 32);
    x.data[0] = 'N';
    assert_load_fails(write_zip("a.npz", members, 1), &inputs, XF_ERR_DATA, "not in the .npy");
    x.data[0] = 0x93;
    x.data[6] = 4;
    assert_load_fails(write_zip("a.npz", members, 1), &inputs, XF_ERR_DATA, ".npy version 4.0");
    x.data[6] = 2;
    memset(x.data + 8, 0x7f, 4);
    assert_load_fails(write_zip("a.npz", members, 1), &inputs, XF_ERR_DATA, "its header claims");
    x.data[6] = 1;
    memcpy(x.data + 8, "\xff\xff", 2);
    assert_load_fails(write_zip("a.npz", members, 1), &inputs, XF_ERR_DATA, "truncated");
    x.size = 5;
    assert_load_fails(write_zip("a.npz", members, 1), &inputs, XF_ERR_DATA, "truncated");
}

/* x [2, 2] with offsets, all of them replaceable. */
static const char *ragged_file(const char *x_text, size_t x_size, const char *type,
                               const void *offsets, size_t offsets_size) {
    static byte_buffer x, x_offsets;
    char dictionary[128];
    make_npy(&x, x_text, VALUES, x_size);
    snprintf(dictionary, sizeof dictionary,
             "{'descr': '%s', 'fortran_order': False, 'shape': (%d,)}", type,
             (int)(offsets_size / (size_t)(type[2] - '0')));
    make_npy(&x_offsets, dictionary, offsets, offsets_size);
    const zip_member members[] = {{.name = "x.npy", .content = &x},
                                  {.name = "x_offsets.npy", .content = &x_offsets}};
    return write_zip("ragged.npz", members, 2);
}

static void test_offsets(void **state) {
    (void)state;
    const xf_dataset_options inputs = {.inputs_only = 1};
    const struct {
        const char *offsets;
        size_t n;
        const char *message;
    } cases[] = {
        {"\0\1\2", 3, NULL},
        {"\1\2", 2, "x_offsets must start at 0, not at 1"},
        {"\0\1\1\2", 4, "sequence 1 would be rows 1 up to 1"},
        {"\0\2\1\2", 4, "x_offsets must be strictly increasing: sequence 1"},
        {"\0\1", 2, "x_offsets must end at the number of rows, 2, not at 1"},
        {"\0\3", 2, "x_offsets must end at the number of rows, 2, not at 3"},
        {"\0", 1, "at least two elements"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *path = ragged_file(DESCR_F8 "(2, 2)}", 32, "|u1", cases[i].offsets, cases[i].n);
        xf_dataset data;
        if (cases[i].message != NULL)
            assert_load_fails(path, &inputs, XF_ERR_DATA, cases[i].message);
        else
            assert_int_equal(xf_dataset_load(&data, path, &inputs, NULL), XF_OK);
        if (cases[i].message == NULL)
            xf_dataset_clear(&data);
    }
    assert_load_fails(ragged_file(DESCR_F8 "(2, 2)}", 32, "<f8", VALUES, 16), &inputs, XF_ERR_DATA,
                      "'x_offsets' has type <f8; store integers");
    assert_load_fails(
        ragged_file(DESCR_F8 "(2, 2)}", 32, "<u8", "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xff", 16),
        &inputs, XF_ERR_DATA, "element 1 of 'x_offsets' is beyond the range of int64");
    assert_load_fails(ragged_file(DESCR_F8 "(1, 2, 2)}", 32, "|u1", "\0\2", 2), &inputs,
                      XF_ERR_DATA, "with offsets it must have two");
}

static void test_inexact_integer(void **state) {
    (void)state;
    static byte_buffer x;
    const xf_dataset_options inputs = {.inputs_only = 1};
    const int64_t values[6] = {1, 2, ((int64_t)1 << 53) + 2, 4, 5, ((int64_t)1 << 53) + 1};
    make_npy(&x, "{'descr': '<i8', 'fortran_order': True, 'shape': (1, 3, 2)}", values, 48);
    const zip_member members[] = {{.name = "x.npy", .content = &x}};
    assert_load_fails(write_zip("big.npz", members, 1), &inputs, XF_ERR_DATA,
                      "sequence 0, token 2, coordinate 1: the integer is not exact");
}

static void test_mismatch_of_x_and_y(void **state) {
    (void)state;
    static byte_buffer x, y;
    zip_member members[] = {{.name = "x.npy", .content = &x}, {.name = "y.npy", .content = &y}};
    make_npy(&x, DESCR_F8 "(1, 2, 2)}", VALUES, 32);
    assert_load_fails(write_zip("x.npz", members, 1), NULL, XF_ERR_DATA,
                      "there is no array 'y' with the targets");
    make_npy(&y, DESCR_F8 "(1, 3)}", VALUES, 24);
    assert_load_fails(write_zip("xy.npz", members, 2), NULL, XF_ERR_DATA,
                      "input tokens have 2 coordinates but targets 3");
    make_npy(&y, DESCR_F8 "(2, 2)}", VALUES, 32);
    assert_load_fails(write_zip("xy.npz", members, 2), NULL, XF_ERR_DATA,
                      "there are 1 inputs but 2 target sequences");
    make_npy(&y, DESCR_F8 "(4,)}", VALUES, 32);
    assert_load_fails(write_zip("xy.npz", members, 2), NULL, XF_ERR_DATA,
                      "without y_offsets it must be [N, m, d], or [N, d]");
}

static void test_hostile_members(void **state) {
    (void)state;
    const xf_dataset_options inputs = {.inputs_only = 1};
    static byte_buffer x;
    make_npy(&x, DESCR_F8 "(1, 2, 2)}", VALUES, 32);
    zip_member twice[] = {{.name = "x.npy", .content = &x}, {.name = "x", .content = &x}};
    assert_load_fails(write_zip("twice.npz", twice, 2), &inputs, XF_ERR_DATA,
                      "two arrays are named 'x'");
    zip_member m = {.name = "x.npy", .content = &x, .flags = 1};
    assert_load_fails(write_zip("a.npz", &m, 1), &inputs, XF_ERR_DATA, "member 'x' is encrypted");
    m = (zip_member){.name = "x.npy", .content = &x, .method = 12};
    assert_load_fails(write_zip("a.npz", &m, 1), &inputs, XF_ERR_DATA, "compressed by method 12");
    m = (zip_member){.name = "x.npy", .content = &x, .method = 8, .claimed_size = 0x7fffffff};
    assert_load_fails(write_zip("a.npz", &m, 1), &inputs, XF_ERR_DATA, "that cannot be true");
    m = (zip_member){
        .name = "x.npy", .content = &x, .claimed_packed = 0x7fffffff, .claimed_size = 0x7fffffff};
    assert_load_fails(write_zip("a.npz", &m, 1), &inputs, XF_ERR_DATA, "that cannot be true");
    m = (zip_member){.name = "x.npy", .content = &x, .crc_change = 1};
    assert_load_fails(write_zip("a.npz", &m, 1), &inputs, XF_ERR_DATA, "CRC");
    m = (zip_member){.name = "x.npy", .content = &x, .method = 8, .claimed_size = (int64_t)x.size};
    assert_load_fails(write_zip("a.npz", &m, 1), &inputs, XF_ERR_DATA, "");
}

static void test_unknown_members_are_noted(void **state) {
    (void)state;
    static byte_buffer x, junk;
    xf_dataset data;
    xf_dataset_options options = {.inputs_only = 1, .note = count_note};
    make_npy(&x, DESCR_F8 "(1, 2, 2)}", VALUES, 32);
    zip_member members[9] = {{.name = "x.npy", .content = &x}};
    for (int i = 1; i < 9; i++)
        members[i] = (zip_member){.name = "junk\n.txt", .content = &junk};
    notes = 0;
    assert_int_equal(xf_dataset_load(&data, write_zip("a.npz", members, 9), &options, NULL), XF_OK);
    assert_int_equal(notes, 6);
    assert_string_equal(last_note, "3 more unknown arrays are ignored");
    xf_dataset_clear(&data);
}

static void test_files_that_are_no_archives(void **state) {
    (void)state;
    size_t size;
    char *whole = read_file(GOLDEN "f8.npz", &size);
    assert_load_fails(temp_path("missing.npz"), NULL, XF_ERR_IO, "No such file");
    assert_load_fails(write_text("empty.npz", ""), NULL, XF_ERR_DATA, "");
    assert_load_fails(write_text("text.npz", "this is no archive"), NULL, XF_ERR_DATA,
                      "not a readable .npz archive");
    assert_int_equal(mkdir(temp_path("directory.npz"), 0755), 0);
    assert_load_fails(temp_path("directory.npz"), NULL, XF_ERR_IO, "it is a directory");
    assert_int_equal(mkfifo(temp_path("pipe.npz"), 0644), 0);
    assert_load_fails(temp_path("pipe.npz"), NULL, XF_ERR_IO, "it is not a regular file");
    assert_load_fails(write_text("data.csv", "1,2"), NULL, XF_ERR_ARGUMENT, "must end in .npz");
    assert_load_fails(temp_path(".npz"), NULL, XF_ERR_IO, "No such file");
    for (size_t cut = 0; cut < size; cut += 7)
        assert_load_fails(write_file("cut.npz", whole, cut), NULL, XF_ERR_DATA, "");
    free(whole);
}

static void test_saving_fails_cleanly(void **state) {
    (void)state;
    xf_dataset data;
    xf_error error;
    load(&data, GOLDEN "f8.npz");
    assert_int_equal(xf_dataset_save(&data, temp_path("no/file.npz"), &error), XF_ERR_IO);
    assert_contains(error.message, "no/file.npz: cannot create a file");
    assert_int_equal(xf_dataset_save(&data, temp_path("data.csv"), &error), XF_ERR_ARGUMENT);
    data.x_offsets[1] = 0;
    assert_int_equal(xf_dataset_save(&data, temp_path("data.npz"), &error), XF_ERR_DATA);
    xf_dataset_clear(&data);
    assert_int_equal(xf_dataset_save(&data, temp_path("data.npz"), &error), XF_ERR_DATA);
    assert_int_equal(count_files(), 0);
}

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    sweep_allocations("sweep.npz", 1);
    empty_temp_directory(NULL);
    sweep_allocations("inputs.npz", 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FILE_TEST(test_files_of_numpy),
        FILE_TEST(test_rectangles_of_numpy),
        FILE_TEST(test_types_that_are_refused),
        FILE_TEST(test_round_trips),
        FILE_TEST(test_many_elements),
        FILE_TEST(test_outputs),
        FILE_TEST(test_spellings_of_the_header),
        FILE_TEST(test_broken_headers),
        FILE_TEST(test_sizes_that_lie),
        FILE_TEST(test_shapes),
        FILE_TEST(test_numpy_prefix),
        FILE_TEST(test_offsets),
        FILE_TEST(test_inexact_integer),
        FILE_TEST(test_mismatch_of_x_and_y),
        FILE_TEST(test_hostile_members),
        FILE_TEST(test_unknown_members_are_noted),
        FILE_TEST(test_files_that_are_no_archives),
        FILE_TEST(test_saving_fails_cleanly),
        FILE_TEST(test_every_allocation_may_fail),
    };
    return RUN_FILE_TESTS(tests);
}
