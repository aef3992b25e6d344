#include "stack.h"

void push(struct stack *stack, int item) { stack->items[stack->depth++] = item; }

int pop(struct stack *stack) { return stack->items[--stack->depth]; }
