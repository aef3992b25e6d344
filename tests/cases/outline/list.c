#include <stdio.h>
#include "list.h"
#define MAX(a, b) ((a) > (b) ? (a) : (b))

typedef struct {
    int x, y;
} point;
typedef unsigned long size;

struct node { struct node *next; int class; };
enum color { RED, GREEN };
static const int limit = 3;
struct node *find(struct node *head, int key);
int *(*table(void))[3];

#ifdef DEBUG
static void dump(const struct node *head)
{
    printf("%p", head);
}
#endif
int main(int argc, char **argv) { return 0; }
