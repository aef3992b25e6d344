package org.example;

/** Tests without a framework. */
public final class ShopTest {
    public static void main(String[] arguments) throws Exception {
        java.nio.file.Path file = java.nio.file.Files.createTempFile("shop", ".txt");
        java.nio.file.Files.delete(file);
        if (Shop.withTax(100) != 119) {
            throw new AssertionError("tax");
        }
        System.out.println("1 test passed");
    }
}
