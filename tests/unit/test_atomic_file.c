/* Files appear complete or not at all. */
#include "unit/file_support.h"

#include "base/atomic_file.h"

#include <signal.h>
#include <sys/resource.h>

static void replace(const char *path, const char *text) {
    xfi_atomic_file file;
    xf_error error = {0};
    if (xfi_atomic_open(&file, path, &error) != XF_OK ||
        xfi_atomic_write(&file, text, strlen(text), &error) != XF_OK ||
        xfi_atomic_commit(&file, &error) != XF_OK)
        fail_msg("%s", error.message);
    assert_null(file.stream);
}

static void assert_file_is(const char *path, const char *text) {
    size_t size;
    char *bytes = read_file(path, &size);
    assert_int_equal(size, strlen(text));
    assert_memory_equal(bytes, text, size);
    free(bytes);
}

static void assert_open_fails(const char *path, const char *part) {
    xfi_atomic_file file;
    xf_error error = {0};
    int before = count_files();
    assert_int_equal(xfi_atomic_open(&file, path, &error), XF_ERR_IO);
    assert_contains(error.message, part);
    assert_int_equal(count_files(), before);
}

static mode_t mode_of(const char *path) {
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return info.st_mode & 07777;
}

static void test_new_file_has_the_mode_of_the_umask(void **state) {
    (void)state;
    mode_t old = umask(027);
    replace(temp_path("new"), "one");
    umask(old);
    assert_file_is(temp_path("new"), "one");
    assert_int_equal(mode_of(temp_path("new")), 0640);
    assert_int_equal(count_files(), 1);
}

static void test_replacing_keeps_the_mode(void **state) {
    (void)state;
    const char *path = write_text("old", "a longer text than the new one");
    assert_int_equal(chmod(path, 0604), 0);
    replace(path, "two");
    assert_file_is(path, "two");
    assert_int_equal(mode_of(path), 0604);
    assert_int_equal(count_files(), 1);
}

static void test_nothing_changes_before_commit(void **state) {
    (void)state;
    xfi_atomic_file file;
    const char *path = write_text("kept", "old");
    assert_int_equal(xfi_atomic_open(&file, path, NULL), XF_OK);
    assert_int_equal(xfi_atomic_write(&file, "new", 3, NULL), XF_OK);
    assert_file_is(path, "old");
    assert_int_equal(count_files(), 2);
    xfi_atomic_discard(&file);
    xfi_atomic_discard(&file);
    assert_file_is(path, "old");
    assert_int_equal(count_files(), 1);
}

static void test_links_are_followed(void **state) {
    (void)state;
    write_text("target", "old");
    assert_int_equal(symlink("target", temp_path("relative")), 0);
    assert_int_equal(symlink(temp_path("relative"), temp_path("absolute")), 0);
    assert_int_equal(symlink("missing", temp_path("dangling")), 0);
    replace(temp_path("absolute"), "new");
    assert_file_is(temp_path("target"), "new");
    replace(temp_path("dangling"), "made");
    assert_file_is(temp_path("missing"), "made");
    struct stat info;
    assert_int_equal(lstat(temp_path("absolute"), &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(count_files(), 5);
}

static void test_what_cannot_be_replaced(void **state) {
    (void)state;
    assert_int_equal(mkdir(temp_path("directory"), 0755), 0);
    assert_int_equal(mkfifo(temp_path("pipe"), 0644), 0);
    assert_int_equal(symlink("loop", temp_path("loop")), 0);
    write_text("file", "text");
    assert_open_fails(temp_path("directory"), "it is a directory");
    assert_open_fails(temp_path("pipe"), "not a regular file");
    assert_open_fails(temp_path("loop"), "too many symbolic links");
    assert_open_fails(temp_path("missing/file"), "cannot create a file in this directory");
    assert_open_fails(temp_path("file/below"), "cannot write: Not a directory");
    assert_open_fails("", "the file name is empty");
    if (geteuid() != 0) {
        assert_int_equal(chmod(temp_path("file"), 0444), 0);
        assert_open_fails(temp_path("file"), "cannot write: Permission denied");
    }
}

static void test_bare_names_are_in_the_working_directory(void **state) {
    (void)state;
    char before[512];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(temp_directory), 0);
    replace("bare", "text");
    assert_file_is(temp_path("bare"), "text");
    assert_int_equal(chdir(before), 0);
}

static void test_leftovers_of_other_runs_are_no_obstacle(void **state) {
    (void)state;
    char name[64];
    snprintf(name, sizeof name, ".exactformer-%ld-0.tmp", (long)getpid());
    write_text(name, "left");
    replace(temp_path("file"), "text");
    assert_file_is(temp_path(name), "left");
    assert_int_equal(count_files(), 2);
}

/* A limit on the size of files stands in for a full disk. */
static void test_full_disk_leaves_the_old_file(void **state) {
    (void)state;
    static const char block[8192];
    struct rlimit old, small = {100, RLIM_INFINITY};
    xfi_atomic_file file;
    xf_error error = {0};
    xf_status status = XF_OK;
    const char *path = write_text("file", "old");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(xfi_atomic_open(&file, path, NULL), XF_OK);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    status = xfi_atomic_write(&file, block, 200, &error); /* buffered: seen at commit */
    if (status == XF_OK)
        status = xfi_atomic_commit(&file, &error);
    xfi_atomic_discard(&file);
    assert_int_equal(status, XF_ERR_IO);
    assert_contains(error.message, "File too large");
    assert_int_equal(xfi_atomic_open(&file, path, NULL), XF_OK);
    assert_int_equal(xfi_atomic_write(&file, block, sizeof block, &error), XF_ERR_IO);
    xfi_atomic_discard(&file);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_file_is(path, "old");
    assert_int_equal(count_files(), 1);
}

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    xf_status status = XF_ERR_MEMORY;
    assert_int_equal(symlink("target", temp_path("link")), 0);
    for (int64_t k = 0; status != XF_OK; k++) {
        xfi_atomic_file file;
        assert_true(k < 20);
        xfi_alloc_limit(k);
        status = xfi_atomic_open(&file, temp_path("link"), NULL);
        if (status == XF_OK)
            status = xfi_atomic_commit(&file, NULL);
        xfi_alloc_limit(-1);
        assert_true(status == XF_OK || status == XF_ERR_MEMORY);
        assert_int_equal(count_files(), 1 + (status == XF_OK));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FILE_TEST(test_new_file_has_the_mode_of_the_umask),
        FILE_TEST(test_replacing_keeps_the_mode),
        FILE_TEST(test_nothing_changes_before_commit),
        FILE_TEST(test_links_are_followed),
        FILE_TEST(test_what_cannot_be_replaced),
        FILE_TEST(test_bare_names_are_in_the_working_directory),
        FILE_TEST(test_leftovers_of_other_runs_are_no_obstacle),
        FILE_TEST(test_full_disk_leaves_the_old_file),
        FILE_TEST(test_every_allocation_may_fail),
    };
    return RUN_FILE_TESTS(tests);
}
