#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "stack.h"

int main(void) {
    char name[] = "/tmp/stack_test_XXXXXX";
    int file = mkstemp(name);
    if (file < 0) return 2;
    close(file);
    unlink(name);
    struct stack stack = {{0}, 0};
    push(&stack, 1);
    push(&stack, 2);
    if (pop(&stack) != 2 || pop(&stack) != 1) return 1;
    puts("stack ok");
    return 0;
}
