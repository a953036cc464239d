/* Preloaded into the bot: while the file $FULL_DISK exists, every write to its database fails as on a full disk. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int is_full(int file) {
    const char *control = getenv("FULL_DISK");
    char link[64], path[4096];
    if (control == NULL || access(control, F_OK) != 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strstr(path, "gantry.db") != NULL;
}

static ssize_t refuse(void) {
    errno = ENOSPC;
    return -1;
}

ssize_t write(int file, const void *bytes, size_t count) {
    static ssize_t (*next)(int, const void *, size_t);
    if (next == NULL) next = dlsym(RTLD_NEXT, "write");
    return is_full(file) ? refuse() : next(file, bytes, count);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t at) {
    static ssize_t (*next)(int, const void *, size_t, off_t);
    if (next == NULL) next = dlsym(RTLD_NEXT, "pwrite");
    return is_full(file) ? refuse() : next(file, bytes, count, at);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at) {
    static ssize_t (*next)(int, const void *, size_t, off64_t);
    if (next == NULL) next = dlsym(RTLD_NEXT, "pwrite64");
    return is_full(file) ? refuse() : next(file, bytes, count, at);
}
