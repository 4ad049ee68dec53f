/* Parsing and writing .npy headers. */
#include "fmt/npy.h"

#include "base/bytes.h"
#include "base/error.h"

#include <stdio.h>
#include <string.h>

xf_status xfi_npy_prefix(int *start, int64_t *length, const unsigned char bytes[XFI_NPY_PREFIX],
                         xf_error *error) {
    if (memcmp(bytes, "\x93NUMPY", 6) != 0)
        return xfi_fail(error, XF_ERR_DATA, "not in the .npy format");
    if (bytes[6] < 1 || bytes[6] > 3)
        return xfi_fail(error, XF_ERR_DATA, ".npy version %d.%d; 1.0 to 3.0 can be read", bytes[6],
                        bytes[7]);
    *start = bytes[6] == 1 ? 10 : 12;
    *length = (int64_t)xfi_load_le(bytes + 8, bytes[6] == 1 ? 2 : 4);
    if (*length > XFI_NPY_MAX_HEADER)
        return xfi_fail(error, XF_ERR_DATA, "its header claims %lld bytes", (long long)*length);
    return XF_OK;
}

typedef struct cursor {
    const char *at;
    const char *end;
} cursor;

static void skip_space(cursor *c) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t' || *c->at == '\r'))
        c->at++;
}

/* Take one character if it comes next, spaces skipped. */
static int take(cursor *c, char wanted) {
    skip_space(c);
    if (c->at >= c->end || *c->at != wanted)
        return 0;
    c->at++;
    return 1;
}

static int take_word(cursor *c, const char *word) {
    size_t length = strlen(word);
    skip_space(c);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0)
        return 0;
    c->at += length;
    return 1;
}

/* A quoted string without escapes, cut to the size of `out`. */
static int take_string(cursor *c, char *out, size_t size) {
    skip_space(c);
    if (c->at >= c->end || (*c->at != '\'' && *c->at != '"'))
        return 0;
    char quote = *c->at++;
    size_t length = 0;
    for (; c->at < c->end && *c->at != quote; c->at++) {
        if (*c->at == '\\' || *c->at == '\0')
            return 0;
        if (length + 1 < size)
            out[length++] = *c->at;
    }
    out[length] = '\0';
    return take(c, quote);
}

/* A non-negative integer, with Python 2's optional L. */
static int take_integer(cursor *c, int64_t *out) {
    skip_space(c);
    const char *first = c->at;
    int64_t value = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *c->at - '0', &value))
            return 0;
    if (c->at == first)
        return 0;
    if (c->at < c->end && *c->at == 'L')
        c->at++;
    *out = value;
    return 1;
}

static int take_shape(cursor *c, xfi_array_entry *entry) {
    int more = take(c, '(');
    if (!more)
        return 0;
    entry->n_dims = 0;
    while (more && !take(c, ')')) {
        if (entry->n_dims == XFI_MAX_DIMS || !take_integer(c, &entry->shape[entry->n_dims]))
            return 0;
        entry->n_dims++;
        more = take(c, ',');
        if (!more && !take(c, ')'))
            return 0;
    }
    return 1;
}

/* Element type from descr without its byte order, e.g. "f8". */
static xfi_element element_of(const char *code) {
    static const struct {
        const char *code;
        xfi_element element;
    } known[] = {{"f8", XFI_ELEMENT_F64}, {"f4", XFI_ELEMENT_F32}, {"f2", XFI_ELEMENT_F16},
                 {"i8", XFI_ELEMENT_I64}, {"i4", XFI_ELEMENT_I32}, {"i2", XFI_ELEMENT_I16},
                 {"i1", XFI_ELEMENT_I8},  {"u8", XFI_ELEMENT_U64}, {"u4", XFI_ELEMENT_U32},
                 {"u2", XFI_ELEMENT_U16}, {"u1", XFI_ELEMENT_U8},  {"b1", XFI_ELEMENT_BOOL}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(code, known[i].code) == 0)
            return known[i].element;
    return XFI_ELEMENT_OTHER;
}

static void set_type(xfi_array_entry *entry, const char *descr) {
    int has_order = descr[0] != '\0' && strchr("<>|=", descr[0]) != NULL;
    entry->big_endian = descr[0] == '>' || (descr[0] == '=' && !xfi_little_endian());
    entry->element = element_of(descr + has_order);
    xfi_printable(entry->type_name, sizeof entry->type_name, descr);
}

/* The value of one key; its bit, or 0 if key or value is not as it should be. */
static int take_value(cursor *c, const char *key, xfi_array_entry *entry) {
    char descr[20];
    if (strcmp(key, "descr") == 0) {
        if (!take_string(c, descr, sizeof descr))
            return 0;
        set_type(entry, descr);
        return 1;
    }
    if (strcmp(key, "fortran_order") == 0) {
        entry->fortran = take_word(c, "True");
        return entry->fortran || take_word(c, "False") ? 2 : 0;
    }
    return strcmp(key, "shape") == 0 && take_shape(c, entry) ? 4 : 0;
}

/* The three keys, each once, in any order. */
static int take_dictionary(cursor *c, xfi_array_entry *entry) {
    int seen = 0, more = 1;
    char key[16];
    if (!take(c, '{'))
        return 0;
    while (more && !take(c, '}')) {
        if (!take_string(c, key, sizeof key) || !take(c, ':'))
            return 0;
        int bit = take_value(c, key, entry);
        if (bit == 0 || seen & bit)
            return 0;
        seen |= bit;
        more = take(c, ',');
        if (!more && !take(c, '}'))
            return 0;
    }
    skip_space(c);
    return seen == 7 && c->at == c->end;
}

xf_status xfi_npy_parse(xfi_array_entry *entry, const char *text, int64_t length, xf_error *error) {
    cursor c = {text, text + length};
    if (!take_dictionary(&c, entry))
        return xfi_fail(error, XF_ERR_DATA,
                        "its header is not that of a plain numeric array (structured or object "
                        "arrays cannot be read; save numbers)");
    if (!xfi_shape_count(&entry->count, entry->shape, entry->n_dims))
        return xfi_fail(error, XF_ERR_DATA, "its shape overflows");
    return XF_OK;
}

static const char *descr_of(xfi_element element) {
    switch (element) {
    case XFI_ELEMENT_F64:
        return "<f8";
    case XFI_ELEMENT_F32:
        return "<f4";
    case XFI_ELEMENT_S16:
        return "|S16";
    default:
        return "<i8";
    }
}

void xfi_npy_header(xfi_text *out, const xfi_array_out *array) {
    enum { ALIGN = 64, FIXED = 10 };
    xfi_text dictionary = {0};
    xfi_text_add(&dictionary, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                 descr_of(array->element));
    for (int i = 0; i < array->n_dims; i++)
        xfi_text_add(&dictionary, "%lld%s", (long long)array->shape[i],
                     i + 1 < array->n_dims ? ", " : (i == 0 ? "," : ""));
    xfi_text_add(&dictionary, "), }");
    while ((dictionary.length + 1 + FIXED) % ALIGN != 0 && !dictionary.failed)
        xfi_text_add_bytes(&dictionary, " ", 1);
    xfi_text_add_bytes(&dictionary, "\n", 1);
    unsigned char prefix[FIXED] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    xfi_store_le(prefix + 8, (uint64_t)dictionary.length, 2);
    xfi_text_add_bytes(out, (const char *)prefix, FIXED);
    if (dictionary.failed)
        out->failed = 1;
    else
        xfi_text_add_bytes(out, dictionary.bytes, dictionary.length);
    xfi_text_clear(&dictionary);
}
