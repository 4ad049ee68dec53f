/* Temporary directories, hand-made files and small zip archives for the tests of the
 * input and output code. Everything is removed when the test program ends. */
#ifndef XF_TESTS_FILE_SUPPORT_H
#define XF_TESTS_FILE_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <exactformer/dataset.h>

#include "base/alloc.h"
#include "base/rng.h"

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char temp_directory[256];

static inline int make_temp_directory(void **state) {
    const char *parent = getenv("TMPDIR");
    (void)state;
    snprintf(temp_directory, sizeof temp_directory, "%s/xf-test-XXXXXX", parent ? parent : "/tmp");
    return mkdtemp(temp_directory) == NULL;
}

/* Path of `name` in the temporary directory; valid for the next 7 calls. */
static inline const char *temp_path(const char *name) {
    static char paths[8][512];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", temp_directory, name);
    return path;
}

static inline int count_files(void) {
    int count = 0;
    DIR *directory = opendir(temp_directory);
    for (struct dirent *entry; directory && (entry = readdir(directory)) != NULL;)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (directory)
        closedir(directory);
    return count;
}

static inline int empty_temp_directory(void **state) {
    DIR *directory = opendir(temp_directory);
    (void)state;
    for (struct dirent *entry; directory && (entry = readdir(directory)) != NULL;)
        if (remove(temp_path(entry->d_name)) != 0 && strcmp(entry->d_name, ".") != 0 &&
            strcmp(entry->d_name, "..") != 0)
            return 1;
    return directory ? closedir(directory) : 0;
}

static inline int remove_temp_directory(void **state) {
    return empty_temp_directory(state) || rmdir(temp_directory);
}

static inline const char *write_file(const char *name, const void *bytes, size_t size) {
    const char *path = temp_path(name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    return path;
}

static inline const char *write_text(const char *name, const char *text) {
    return write_file(name, text, strlen(text));
}

/* The whole file, to be freed with free(). */
static inline char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *bytes = malloc(1 << 20);
    assert_non_null(bytes);
    *size = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

static inline void assert_files_equal(const char *a, const char *b) {
    size_t size_a, size_b;
    char *bytes_a = read_file(a, &size_a), *bytes_b = read_file(b, &size_b);
    assert_int_equal(size_a, size_b);
    assert_memory_equal(bytes_a, bytes_b, size_a);
    free(bytes_a);
    free(bytes_b);
}

static inline void assert_contains(const char *text, const char *part) {
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" does not contain \"%s\"", text, part);
}

/* Bytes under construction. */
typedef struct byte_buffer {
    size_t size;
    unsigned char data[1 << 16];
} byte_buffer;

static inline void put(byte_buffer *b, const void *data, size_t size) {
    assert_true(b->size + size <= sizeof b->data);
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

static inline void put_le(byte_buffer *b, uint64_t value, int size) {
    for (int i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)(value >> 8 * i);
        put(b, &byte, 1);
    }
}

static inline void put_text(byte_buffer *b, const char *text) {
    put(b, text, strlen(text));
}

/* A safetensors file from its header's text and `data_size` bytes of zeros. */
static inline const char *write_safetensors(const char *name, const char *header,
                                            size_t data_size) {
    static byte_buffer b;
    static const unsigned char zeros[4096];
    b.size = 0;
    put_le(&b, strlen(header), 8);
    put_text(&b, header);
    put(&b, zeros, data_size);
    return write_file(name, b.data, b.size);
}

/* --- zip archives, with room for lies ------------------------------------------- */

typedef struct zip_member {
    const char *name;
    const byte_buffer *content;
    uint16_t flags;         /* 1: encrypted */
    uint16_t method;        /* 0: stored */
    int64_t claimed_size;   /* of the unpacked member; 0: true */
    int64_t claimed_packed; /* 0: true */
    uint32_t crc_change;    /* added to the checksum */
} zip_member;

static inline uint32_t crc32_of(const byte_buffer *b) {
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < b->size; i++) {
        crc ^= b->data[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

/* The fields that the local and the central header share. */
static inline void put_zip_fields(byte_buffer *out, const zip_member *m) {
    uint64_t size = m->content->size;
    put_le(out, 20, 2);
    put_le(out, m->flags, 2);
    put_le(out, m->method, 2);
    put_le(out, 0x00210000, 4);
    put_le(out, crc32_of(m->content) + m->crc_change, 4);
    put_le(out, m->claimed_packed ? (uint64_t)m->claimed_packed : size, 4);
    put_le(out, m->claimed_size ? (uint64_t)m->claimed_size : size, 4);
    put_le(out, strlen(m->name), 2);
    put_le(out, 0, 2);
}

static inline const char *write_zip(const char *name, const zip_member *members, int n) {
    static byte_buffer out, central;
    out.size = central.size = 0;
    for (int i = 0; i < n; i++) {
        size_t offset = out.size;
        put_le(&out, 0x04034b50, 4);
        put_zip_fields(&out, &members[i]);
        put_text(&out, members[i].name);
        put(&out, members[i].content->data, members[i].content->size);
        put_le(&central, 0x02014b50, 4);
        put_le(&central, 20, 2);
        put_zip_fields(&central, &members[i]);
        put_le(&central, 0, 6);
        put_le(&central, 0, 4);
        put_le(&central, offset, 4);
        put_text(&central, members[i].name);
    }
    size_t start = out.size;
    put(&out, central.data, central.size);
    put_le(&out, 0x06054b50, 4);
    put_le(&out, 0, 4);
    put_le(&out, (uint64_t)n, 2);
    put_le(&out, (uint64_t)n, 2);
    put_le(&out, central.size, 4);
    put_le(&out, start, 4);
    put_le(&out, 0, 2);
    return write_file(name, out.data, out.size);
}

/* A .npy member, version 1.0, from its dictionary's text and `size` bytes of data. */
static inline void make_npy(byte_buffer *out, const char *dictionary, const void *data,
                            size_t size) {
    out->size = 0;
    put(out, "\x93NUMPY\x01\x00", 8);
    put_le(out, strlen(dictionary), 2);
    put_text(out, dictionary);
    put(out, data, size);
}

/* --- data sets -------------------------------------------------------------------- */

/* A random ragged data set of up to 6 sequences; values of all magnitudes. */
static inline void random_dataset(xf_dataset *out, xfi_rng *rng, int with_targets) {
    int64_t n = 1 + xfi_rng_below(rng, 6), d = 1 + xfi_rng_below(rng, 4);
    int64_t x_offsets[8] = {0}, y_offsets[8] = {0};
    double x[30 * 4], y[30 * 4];
    xf_error error;
    for (int64_t j = 0; j < n; j++) {
        int64_t tokens = 1 + xfi_rng_below(rng, 5);
        x_offsets[j + 1] = x_offsets[j] + tokens;
        y_offsets[j + 1] = y_offsets[j] + 1 + xfi_rng_below(rng, tokens);
    }
    for (int64_t i = 0; i < 30 * d; i++) {
        uint64_t bits = xfi_rng_bits(rng);
        int exponent = (int)xfi_rng_below(rng, 600) - 300;
        x[i] = (double)(int64_t)bits * (exponent < 0 ? 1e-300 : 1e200) * exponent;
        y[i] = xfi_rng_normal(rng);
    }
    error.message[0] = '\0';
    xf_status status = xf_dataset_from_arrays(out, n, d, x, x_offsets, with_targets ? y : NULL,
                                              with_targets ? y_offsets : NULL, NULL, &error);
    if (status != XF_OK)
        fail_msg("%s", error.message);
}

static inline void assert_datasets_equal(const xf_dataset *a, const xf_dataset *b) {
    assert_int_equal(a->n_sequences, b->n_sequences);
    assert_int_equal(a->d, b->d);
    assert_int_equal(a->n_tokens, b->n_tokens);
    assert_int_equal(a->n_targets, b->n_targets);
    size_t offsets = (size_t)(a->n_sequences + 1) * 8;
    assert_memory_equal(a->x, b->x, (size_t)(a->n_tokens * a->d) * 8);
    assert_memory_equal(a->x_offsets, b->x_offsets, offsets);
    assert_int_equal(a->y == NULL, b->y == NULL);
    if (a->y == NULL)
        return;
    assert_memory_equal(a->y, b->y, (size_t)(a->n_targets * a->d) * 8);
    assert_memory_equal(a->y_offsets, b->y_offsets, offsets);
}

/* Loading must fail with this status and a message that names the file and has `part`. */
static inline void assert_load_fails(const char *path, const xf_dataset_options *options,
                                     xf_status status, const char *part) {
    xf_dataset data;
    xf_error error = {0};
    xf_status got = xf_dataset_load(&data, path, options, &error);
    if (got != status || error.status != status || strstr(error.message, part) == NULL)
        fail_msg("wanted %d with \"%s\", got %d: %s", status, part, got, error.message);
    assert_contains(error.message, strrchr(path, '/') + 1);
    assert_null(strchr(error.message, '\n'));
    assert_null(data.x);
    assert_int_equal(xf_dataset_load(&data, path, options, NULL), status);
    xf_dataset_clear(&data);
}

/* Save to `name` and load it again: equal in every bit, and saved again the same bytes. */
static inline void assert_round_trip(const xf_dataset *data, const char *name) {
    char again_name[64];
    xf_dataset again = {0};
    xf_error error = {0};
    xf_dataset_options options = {.inputs_only = data->y == NULL};
    snprintf(again_name, sizeof again_name, "again-%s", name);
    if (xf_dataset_save(data, temp_path(name), &error) != XF_OK ||
        xf_dataset_load(&again, temp_path(name), &options, &error) != XF_OK)
        fail_msg("%s", error.message);
    assert_datasets_equal(data, &again);
    assert_int_equal(xf_dataset_save(&again, temp_path(again_name), &error), XF_OK);
    assert_files_equal(temp_path(name), temp_path(again_name));
    xf_dataset_clear(&again);
}

/* Load and save with the k-th allocation failing, for every k until none fails. Allocations inside
 * jansson and libzip are their own: jansson 2.14 does not survive all of its failures. */
static inline void sweep_allocations(const char *name, int with_targets) {
    xf_dataset data, again;
    xf_error error;
    xfi_rng rng;
    xfi_rng_seed(&rng, 7, 0);
    random_dataset(&data, &rng, with_targets);
    xf_dataset_options options = {.inputs_only = !with_targets, .append_positions = 1};
    xf_status status = XF_ERR_MEMORY;
    int64_t k = 0;
    for (; status != XF_OK; k++) {
        assert_true(k < 3000);
        xfi_alloc_limit(k);
        status = xf_dataset_save(&data, temp_path(name), &error);
        xfi_alloc_limit(-1);
        assert_true(status == XF_OK || status == XF_ERR_MEMORY);
        assert_int_equal(count_files(), status == XF_OK);
    }
    assert_true(k > 2);
    status = XF_ERR_MEMORY;
    for (k = 0; status != XF_OK; k++) {
        assert_true(k < 3000);
        xfi_alloc_limit(k);
        status = xf_dataset_load(&again, temp_path(name), &options, &error);
        xfi_alloc_limit(-1);
        if (status != XF_OK && status != XF_ERR_MEMORY)
            fail_msg("%s", error.message);
        assert_true(status == XF_OK || again.x == NULL);
    }
    assert_true(k > 2);
    xf_dataset_clear(&again);
    xf_dataset_clear(&data);
}

/* A cmocka test with a clean temporary directory. */
#define FILE_TEST(function) cmocka_unit_test_setup_teardown(function, NULL, empty_temp_directory)
#define RUN_FILE_TESTS(tests)                                                                      \
    cmocka_run_group_tests(tests, make_temp_directory, remove_temp_directory)

#endif
