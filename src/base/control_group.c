/* Limits of control groups, versions 1 and 2. */
#include "base/control_group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double NO_LIMIT = 1e300;

static double least(double a, double b) {
    return a < b ? a : b;
}

/* The number in a file, NO_LIMIT if there is none ("max"). */
static double limit_in(const char *path) {
    char text[32] = "", *end = text;
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return NO_LIMIT;
    int found = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    double value = strtod(text, &end);
    return found && end != text && value > 0 ? value : NO_LIMIT;
}

/* The least number in files of this name in the group and those above it. */
static double limit_above(const char *root, const char *hierarchy, const char *group,
                          const char *name) {
    char path[4096];
    double limit = NO_LIMIT;
    int length = (int)strlen(group);
    if (strstr(group, "/..") != NULL) /* beyond what this process may see */
        length = 0;
    for (;;) {
        while (length > 0 && group[length - 1] == '/')
            length--;
        int size = snprintf(path, sizeof path, "%s%s%.*s/%s", root, hierarchy, length, group, name);
        if (size > 0 && (size_t)size < sizeof path)
            limit = least(limit, limit_in(path));
        if (length == 0)
            return limit;
        while (length > 0 && group[length - 1] != '/')
            length--;
    }
}

/* Is `name` in a list "name,name,..." ? */
static int has(const char *list, const char *name) {
    size_t length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)) != NULL; at += length)
        if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
            return 1;
    return 0;
}

/* A line "number:controllers:group"; version 2 has the number 0 and no controllers. */
static double limit_of(const char *root, char *line) {
    char *controllers = strchr(line, ':');
    char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    if (group == NULL)
        return NO_LIMIT;
    *controllers++ = *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    if (has(controllers, "memory"))
        return limit_above(root, "/memory", group, "memory.limit_in_bytes");
    if (controllers[0] != '\0' || strcmp(line, "0") != 0)
        return NO_LIMIT;
    return least(limit_above(root, "", group, "memory.max"),
                 limit_above(root, "/unified", group, "memory.max"));
}

double xfi_control_group_memory(const char *root, const char *membership) {
    /* The roots themselves, should the groups not be told. */
    double limit = least(limit_above(root, "", "", "memory.max"),
                         limit_above(root, "/memory", "", "memory.limit_in_bytes"));
    FILE *file = fopen(membership, "r");
    char *line = NULL;
    size_t size = 0;
    while (file != NULL && getline(&line, &size, file) >= 0)
        limit = least(limit, limit_of(root, line));
    free(line);
    if (file != NULL)
        fclose(file);
    return limit;
}
