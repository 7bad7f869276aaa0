/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * replay.c - a plain main for the fuzz targets: runs the files, and the files in the
 * directories, that are given. So any compiler can run seeds and past findings.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned long run;

static void replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    uint8_t *bytes;
    long size;
    if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0 || fseek(f, 0, SEEK_SET)) {
        perror(path);
        exit(2);
    }
    bytes = malloc(size ? (size_t)size : 1);
    if (!bytes || fread(bytes, 1, (size_t)size, f) != (size_t)size) {
        perror(path);
        exit(2);
    }
    fclose(f);
    fprintf(stderr, "%s\n", path); /* the last one named is the one that failed */
    (void)LLVMFuzzerTestOneInput(bytes, (size_t)size);
    free(bytes);
    run++;
}

static void replay(const char *path)
{
    char name[4096];
    struct stat st;
    struct dirent *entry;
    DIR *dir;
    if (stat(path, &st) || !S_ISDIR(st.st_mode)) {
        replay_file(path);
        return;
    }
    dir = opendir(path);
    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.' &&
            snprintf(name, sizeof(name), "%s/%s", path, entry->d_name) < (int)sizeof(name))
            replay_file(name);
    if (dir)
        closedir(dir);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        replay(argv[i]);
    printf("%lu inputs\n", run);
    return run == 0;
}
