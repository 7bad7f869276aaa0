/* dlopen, call, dlclose, twice. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int sum = 0;

    for (int i = 0; i < 2 && argc > 1; i++) {
        void *library = dlopen(argv[1], RTLD_NOW);
        int (*function)(int);

        if (!library)
            return 1;
        *(void **)&function = dlsym(library, "plugin");
        sum += function(10 + i);
        dlclose(library);
    }
    printf("%d\n", sum);
    return 0;
}
