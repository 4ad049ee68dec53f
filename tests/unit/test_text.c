/* Printed numbers read back equal in every locale; text buffers survive failures. */
#include "unit/file_support.h"

#include "base/text.h"

#include <float.h>
#include <locale.h>
#include <math.h>

static void assert_prints(double value, const char *wanted) {
    char text[XFI_DOUBLE_TEXT_SIZE];
    assert_int_equal(xfi_format_double(text, value), strlen(wanted));
    assert_string_equal(text, wanted);
}

static void test_numbers(void **state) {
    (void)state;
    assert_prints(0.0, "0");
    assert_prints(-1.0, "-1");
    assert_prints(0.1, "0.1");
    assert_prints(1.0 / 3.0, "0.3333333333333333");
    assert_prints(1e20, "1e+20");
    assert_prints(0x1p53 + 2, "9007199254740994");
    assert_prints(DBL_MAX, "1.7976931348623157e+308");
    assert_prints(-DBL_TRUE_MIN, "-4.94065645841247e-324");
}

static void check_round_trips(void) {
    xfi_rng rng;
    xfi_rng_seed(&rng, 3, 0);
    for (int i = 0; i < 2000; i++) {
        uint64_t bits = xfi_rng_bits(&rng);
        double value;
        memcpy(&value, &bits, sizeof value);
        char text[XFI_DOUBLE_TEXT_SIZE];
        if (!isfinite(value))
            continue;
        xfi_format_double(text, value);
        assert_null(strchr(text, ','));
        json_t *number = json_loads(text, JSON_DECODE_ANY, NULL);
        assert_non_null(number);
        assert_true(json_number_value(number) == value);
        json_decref(number);
    }
}

static void test_round_trips_in_every_locale(void **state) {
    (void)state;
    static const char *const locales[] = {"C", "de_DE.UTF-8", "fr_FR.UTF-8", "ps_AF.UTF-8"};
    for (size_t i = 0; i < sizeof locales / sizeof locales[0]; i++) {
        if (setlocale(LC_ALL, locales[i]) == NULL)
            continue; /* not installed */
        check_round_trips();
    }
    setlocale(LC_ALL, "C");
}

static void test_text_grows(void **state) {
    (void)state;
    xfi_text text = {0};
    for (int i = 0; i < 1000; i++)
        xfi_text_add(&text, "%d,", i % 10);
    assert_int_equal(text.length, 2000);
    assert_int_equal(strlen(text.bytes), 2000);
    text.length = 0;
    xfi_text_add_json_string(&text, "a\"b\\c\n\x01");
    assert_string_equal(text.bytes, "\"a\\\"b\\\\c\\u000a\\u0001\"");
    xfi_text_clear(&text);
    assert_null(text.bytes);
}

static void test_failure_is_remembered(void **state) {
    (void)state;
    xfi_text text = {0};
    xfi_alloc_limit(0);
    xfi_text_add(&text, "lost");
    xfi_alloc_limit(-1);
    xfi_text_add(&text, "not added");
    assert_true(text.failed);
    assert_int_equal(text.length, 0);
    xfi_text_clear(&text);
    xfi_text_add(&text, "%300d", 1);
    assert_true(text.failed);
    xfi_text_clear(&text);
    xfi_text_add_bytes(&text, "", INT64_MAX);
    assert_true(text.failed);
    xfi_text_clear(&text);
}

static void test_names_become_printable(void **state) {
    (void)state;
    char out[8];
    assert_string_equal(xfi_printable(out, sizeof out, "a\n\x80"), "a??");
    assert_string_equal(xfi_printable(out, sizeof out, "1234567"), "1234567");
    assert_string_equal(xfi_printable(out, sizeof out, "12345678"), "1234...");
}

static void test_long_paths_keep_their_end(void **state) {
    (void)state;
    char path[2001] = "";
    xf_error error;
    memset(path, 'a', 2000);
    memcpy(path + 1990, "\nend.npz", 8);
    path[1998] = '\0';
    xfi_fail(&error, XF_ERR_IO, "message");
    xfi_error_prefix_path(&error, path);
    assert_contains(error.message, "?end.npz: message");
    assert_true(strncmp(error.message, "...a", 4) == 0);
    xfi_error_prefix_path(NULL, path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_round_trips_in_every_locale),
        cmocka_unit_test(test_text_grows),
        cmocka_unit_test(test_failure_is_remembered),
        cmocka_unit_test(test_names_become_printable),
        cmocka_unit_test(test_long_paths_keep_their_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
