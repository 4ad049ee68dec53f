/* Parsing JSON text. */
#include "fmt/json_text.h"

#include "base/error.h"
#include "base/text.h"

static const char *hint(enum json_error_code code) {
    if (code == json_error_numeric_overflow)
        return " (the number is too large; write a large integer with an exponent, as 1e20)";
    return "";
}

xf_status xfi_json_parse(json_t **out, const char *text, int64_t length, const char *what,
                         xf_error *error) {
    json_error_t why;
    char shown[JSON_ERROR_TEXT_LENGTH];
    *out = json_loadb(text, (size_t)length, JSON_REJECT_DUPLICATES, &why);
    if (*out != NULL)
        return XF_OK;
    if (why.text[0] == '\0' || json_error_code(&why) == json_error_out_of_memory)
        return xfi_fail_memory(error); /* jansson explains everything else */
    xfi_printable(shown, sizeof shown, why.text);
    return xfi_fail(error, XF_ERR_DATA, "%s is not valid JSON: %s%s", what, shown,
                    hint(json_error_code(&why)));
}
