package org.example;

/** A shop. */
public final class Shop {
    private Shop() {}

    /** Returns the price with tax, in cents. */
    public static long withTax(long cents) {
        return Math.round(cents * 1.19);
    }

    public static void main(String[] arguments) {
        System.out.println(withTax(Long.parseLong(arguments[0])));
    }
}
