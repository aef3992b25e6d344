#include <a.h>
int one(void) { return 1; }
void two(int a { if (a) }
struct open {
    int x;
    void (*callback)(struct open *self);
int three(void);
