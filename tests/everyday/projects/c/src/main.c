#include <stdio.h>
#include "stack.h"

int main(void) {
    struct stack stack = {{0}, 0};
    push(&stack, 42);
    printf("%d\n", pop(&stack));
    return 0;
}
