/* A library for load.c. */
int plugin(int n);
int plugin(int n)
{
    int sum = 0;

    for (int i = 0; i < n; i++)
        sum += i;
    return sum;
}
