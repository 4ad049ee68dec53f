/* Runs a fuzz target once on every file of a directory, without libFuzzer:
 *     replay DIRECTORY */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LARGEST = 1 << 20 };

static int replay(const char *directory, const char *name) {
    static uint8_t buffer[LARGEST];
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fprintf(stderr, "cannot open %s\n", path);
        return 1;
    }
    size_t size = fread(buffer, 1, LARGEST, file);
    fclose(file);
    uint8_t *exact = malloc(size ? size : 1); /* so that a sanitizer sees the end */
    if (exact == NULL)
        return 1;
    memcpy(exact, buffer, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    return 0;
}

int main(int argc, char **argv) {
    DIR *directory = argc == 2 ? opendir(argv[1]) : NULL;
    int failures = 0, files = 0;
    if (directory == NULL) {
        fprintf(stderr, "usage: replay DIRECTORY\n");
        return 2;
    }
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (entry->d_name[0] != '.') {
            failures += replay(argv[1], entry->d_name);
            files++;
        }
    closedir(directory);
    printf("%d files\n", files);
    return failures != 0 || files == 0;
}
