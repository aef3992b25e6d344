package shop.orders;

import java.util.List;
import static java.util.Map.entry;

/** An order. */
public sealed class Order<T extends Item> implements Comparable<Order> permits Big {
    private int total = 0;

    public Order(List<T> items) { }

    @Override
    public int compareTo(Order other) throws IllegalStateException { return 0; }

    enum State { OPEN, DONE; boolean isOpen() { return this == OPEN; } }

    interface Visitor { void visit(Order order); }
    record Line(String name, int count) { Line { } }
    @interface Marker { }
}
