/* Limits of control groups, in trees made by hand. */
#include "unit/file_support.h"

#include "base/control_group.h"

#include <ftw.h>

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at) {
    (void)info;
    (void)kind;
    return at->level > 0 ? remove(path) : 0;
}

static int empty_tree(void **state) {
    (void)state;
    return nftw(temp_directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static int remove_tree(void **state) {
    return empty_tree(state) || rmdir(temp_directory);
}

/* A file in the tree, with the directories above it. */
static void plant(const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", temp_directory, name);
    for (char *at = path + strlen(temp_directory) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(path, 0777);
        *at = '/';
    }
    write_text(name, text);
}

static double limit(const char *membership) {
    return xfi_control_group_memory(temp_directory, write_text("membership", membership));
}

static void version_2(void **state) {
    (void)state;
    plant("a/b/c/memory.max", "max\n");
    plant("a/b/memory.max", "5000\n");
    plant("a/memory.max", "7000\n");
    assert_true(limit("0::/a/b/c\n") == 5000);
    assert_true(limit("0::/a/b\n") == 5000);
    assert_true(limit("0::/a\n") == 7000);
    assert_true(limit("0::/a/other\n") == 7000);
    assert_true(limit("0::/\n") == 1e300);
    plant("memory.max", "6000\n");
    assert_true(limit("0::/a/b/c") == 5000);
    assert_true(limit("0::/a\n") == 6000);
    assert_true(limit("0::/../elsewhere\n") == 6000);
}

static void version_1(void **state) {
    (void)state;
    const char *groups = "5:devices:/\n4:cpu,memory:/jobs/7\n1:name=systemd:/jobs/8\n0::/\n";
    plant("memory/memory.limit_in_bytes", "9223372036854771712\n");
    plant("memory/jobs/memory.limit_in_bytes", "9000\n");
    plant("memory/jobs/7/memory.limit_in_bytes", "8000\n");
    plant("memory/jobs/8/memory.limit_in_bytes", "10\n");
    plant("jobs/7/memory.max", "11\n"); /* another hierarchy */
    assert_true(limit(groups) == 8000);
    assert_true(limit("4:memory:/jobs\n") == 9000);
    assert_true(limit("4:memory_else,cpu:/jobs\n") == (double)9223372036854771712);
}

/* Both at once: version 2 lies beside the others. */
static void hybrid(void **state) {
    (void)state;
    plant("unified/user/memory.max", "3000\n");
    plant("memory/user/memory.limit_in_bytes", "4000\n");
    assert_true(limit("2:memory:/user\n0::/user\n") == 3000);
    assert_true(limit("2:memory:/user\n0::/\n") == 4000);
}

static void nonsense_sets_no_limit(void **state) {
    (void)state;
    plant("a/memory.max", "many\n");
    assert_true(limit("0::/a\n") == 1e300);
    assert_true(limit("") == 1e300);
    assert_true(limit("0\n::\n:\n0:") == 1e300);
    assert_true(xfi_control_group_memory(temp_directory, temp_path("absent")) == 1e300);
    plant("memory.max", "2000\n"); /* seen even where groups are not told */
    assert_true(xfi_control_group_memory(temp_directory, temp_path("absent")) == 2000);
}

#define TREE_TEST(function) cmocka_unit_test_setup_teardown(function, NULL, empty_tree)

int main(void) {
    const struct CMUnitTest tests[] = {
        TREE_TEST(version_2),
        TREE_TEST(version_1),
        TREE_TEST(hybrid),
        TREE_TEST(nonsense_sets_no_limit),
    };
    return cmocka_run_group_tests(tests, make_temp_directory, remove_tree);
}
