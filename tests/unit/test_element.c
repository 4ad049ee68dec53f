/* Every element type is widened exactly or refused. */
#include "unit/file_support.h"

#include "fmt/element.h"

#include <math.h>

/* Widen the low bytes of `bits` in the given order; returns what the library returns. */
static int64_t widen(double *out, uint64_t bits, xfi_element element, int big) {
    unsigned char raw[8];
    int size = xfi_element_size(element);
    for (int i = 0; i < size; i++)
        raw[big ? size - 1 - i : i] = (unsigned char)(bits >> 8 * i);
    return xfi_elements_to_double(out, raw, 1, element, big);
}

static void assert_widens(uint64_t bits, xfi_element element, double wanted) {
    for (int big = 0; big <= 1; big++) {
        double value = 12345.0;
        assert_int_equal(widen(&value, bits, element, big), 1);
        assert_true(value == wanted && signbit(value) == signbit(wanted));
    }
}

static void assert_inexact(uint64_t bits, xfi_element element) {
    double value;
    assert_int_equal(widen(&value, bits, element, 0), 0);
}

static void test_floats(void **state) {
    (void)state;
    assert_widens(0x3ff8000000000000u, XFI_ELEMENT_F64, 1.5);
    assert_widens(0x80000000u, XFI_ELEMENT_F32, -0.0);
    assert_widens(1, XFI_ELEMENT_F32, 0x1p-149);
    assert_widens(0x7f800000u, XFI_ELEMENT_F32, INFINITY);
    assert_widens(0x3fc0, XFI_ELEMENT_BF16, 1.5);
    assert_widens(0xff80, XFI_ELEMENT_BF16, -INFINITY);
    assert_widens(1, XFI_ELEMENT_BF16, 0x1p-133);
}

/* All binary16 numbers from the definition. */
static void test_all_halves(void **state) {
    (void)state;
    for (uint64_t bits = 0; bits < 0x8000; bits++) {
        int exponent = (int)(bits >> 10);
        double fraction = (double)(bits & 1023) / 1024, value;
        if (exponent == 31 && fraction > 0) {
            assert_int_equal(widen(&value, bits, XFI_ELEMENT_F16, 0), 1);
            assert_true(isnan(value));
            continue;
        }
        double wanted = exponent == 31  ? INFINITY
                        : exponent == 0 ? fraction * 0x1p-14
                                        : (1 + fraction) * pow(2, exponent - 15);
        assert_widens(bits, XFI_ELEMENT_F16, wanted);
        assert_widens(bits | 0x8000, XFI_ELEMENT_F16, -wanted);
    }
}

static void test_integers(void **state) {
    (void)state;
    assert_widens(0x80, XFI_ELEMENT_I8, -128);
    assert_widens(0x80, XFI_ELEMENT_U8, 128);
    assert_widens(0xffff, XFI_ELEMENT_I16, -1);
    assert_widens(0xffff, XFI_ELEMENT_U16, 65535);
    assert_widens(0x80000000u, XFI_ELEMENT_I32, -0x1p31);
    assert_widens(0xffffffffu, XFI_ELEMENT_U32, 4294967295.0);
    assert_widens((uint64_t)1 << 63, XFI_ELEMENT_I64, -0x1p63);
    assert_widens((uint64_t)1 << 63, XFI_ELEMENT_U64, 0x1p63);
    assert_widens((uint64_t)1 << 53, XFI_ELEMENT_I64, 0x1p53);
    assert_widens(((uint64_t)1 << 53) + 2, XFI_ELEMENT_I64, 0x1p53 + 2);
    assert_widens(0, XFI_ELEMENT_U64, 0);
    assert_inexact(((uint64_t)1 << 53) + 1, XFI_ELEMENT_I64);
    assert_inexact(~((uint64_t)1 << 53), XFI_ELEMENT_I64);
    assert_inexact(INT64_MAX, XFI_ELEMENT_I64);
    assert_inexact(UINT64_MAX, XFI_ELEMENT_U64);
}

static void test_to_int64(void **state) {
    (void)state;
    const unsigned char raw[16] = {1, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0xff};
    int64_t out[2];
    assert_int_equal(xfi_elements_to_int64(out, raw, 1, XFI_ELEMENT_I64, 0), 1);
    assert_true(out[0] == INT64_MIN + 1);
    assert_int_equal(xfi_elements_to_int64(out, raw, 1, XFI_ELEMENT_U64, 0), 0);
    assert_int_equal(xfi_elements_to_int64(out, raw, 1, XFI_ELEMENT_U64, 1), 1);
    assert_true(out[0] == 0x0100000000000080);
    assert_int_equal(xfi_elements_to_int64(out, raw + 8, 2, XFI_ELEMENT_I8, 0), 2);
    assert_true(out[1] == -1);
}

static void test_kinds(void **state) {
    (void)state;
    for (int e = XFI_ELEMENT_OTHER; e <= XFI_ELEMENT_U64; e++) {
        int number = e > XFI_ELEMENT_BOOL;
        xfi_element element = (xfi_element)e;
        assert_int_equal(xfi_element_is_integer(element) + xfi_element_is_float(element), number);
        assert_int_equal(xfi_element_size(element) > 0, e != XFI_ELEMENT_OTHER);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats),   cmocka_unit_test(test_all_halves),
        cmocka_unit_test(test_integers), cmocka_unit_test(test_to_int64),
        cmocka_unit_test(test_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
