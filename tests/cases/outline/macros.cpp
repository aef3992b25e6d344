// class Commented { void out(); };
#include "shape.hpp"
#define DECLARE(name) \
    void name();
#define LIMIT (10)
/* namespace gone { */
GEO_BEGIN_NAMESPACE
extern "C++" {
class GEO_EXPORT(api) Canvas final : public QObject, private Base<int, 3>::Inner {
    Q_OBJECT
    Q_PROPERTY(int width READ width)
public slots:
    Canvas();
    [[nodiscard]] int width() const noexcept { return w_ > 0 ? w_ : throw "none"; }
    template <typename T, class = std::enable_if_t<(sizeof(T) > 1)>>
    void draw(T&& shape, std::function<void(int)> then = [](int) { return; });
    Canvas& operator=(Canvas&& other) = delete;
    void operator()(int a, int b);
    explicit operator bool() const;
    bool operator<(const Canvas& other) const;
    union { int w_; float f_; };
    int height_ : 4, depth_{7};
    std::vector<int> list = {1, 2};
    friend void swap(Canvas&, Canvas&);
    DECLARE(more);
};
}
Canvas::Canvas() : w_{1}, list({2, 3}), Base<int, 3>{} {
    const char *text = R"x(
}}} class Fake { )" )x";
    if (text) { for (;;) { break; } }
}
#ifdef WIDE
long total(const char *text) {
#else
int total(const char *text) {
#endif
    return '}' + 1'000 + text[0];
}
#if 0
void never() {
#endif
static const struct { int a; } table[] = { { 1 }, { 2 } };
auto twice = [](int x) { return x * 2; };
auto thrice(int x) -> decltype(x * 3) { return x * 3; }
Canvas origin(1, 2);
Canvas *stack = new Canvas();
template <> struct std::hash<Canvas> { size_t operator()(const Canvas& c) const { return 0; } };
template <typename T> concept Drawable = requires(T t) { t.draw(); };
typedef void (*handler)(int);
void (*current)(int) = nullptr;
void (*signal(int number, void (*then)(int)))(int);
enum class Mode : unsigned char { Fast, Slow } mode;
namespace { int hidden(); }
namespace short_name = geo::flat;
inline namespace v2 { struct Point { double x, y; Point(double x, double y); ~Point(); }; }
TEST(Canvas, draws) {
    EXPECT_EQ(1, 1);
}
using Map = std::map<std::string, int>;
int main() try { return 0; } catch (...) { return 1; }
EXTERN(int)
count(void);
EXTERN(const char *) name_of(int color) { return ""; }
DECLARE(one)
DECLARE(two)
static int after(STACK_OF(int) *all);
STACK_OF(int) *list(void);
