/* C++ exceptions: the unwinder returns into frames that never called it. */
#include <cstdio>
#include <stdexcept>
#include <string>

struct Guard {
    int &n;
    explicit Guard(int &count) : n(count) {}
    ~Guard() { n++; }
};

static int cleaned;

static int fall(int n)
{
    Guard guard(cleaned);

    if (n == 0)
        throw std::runtime_error("bottom");
    return fall(n - 1) + 1;
}

int main()
{
    int caught = 0;

    for (int i = 1; i < 4; i++) {
        try {
            fall(i * 3);
        } catch (const std::exception &e) {
            caught += static_cast<int>(std::string(e.what()).size());
        }
    }
    std::printf("%d %d\n", caught, cleaned);
    return 0;
}
