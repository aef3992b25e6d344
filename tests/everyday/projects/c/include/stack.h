#ifndef STACK_H
#define STACK_H
struct stack { int items[16]; int depth; };
void push(struct stack *stack, int item);
int pop(struct stack *stack);
#endif
