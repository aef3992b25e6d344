fn main() {
    println!("{}", counter::GREETING);
}
