#pragma once
#include <vector>
using std::vector;
namespace geo::flat {
template <typename T>
class Shape : public Base<T> {
public:
    explicit Shape(T side) : side_(side) {}
    virtual ~Shape() = default;
    virtual double area() const = 0;
    bool operator==(const Shape& other) const { return true; }
private:
    T side_;
    struct Cache { int hits; };
};
template <class T> T twice(T x) { return x + x; }
enum class Kind { Round, Flat };
using Id = unsigned long;
}
extern "C" { void c_api(int); }
double geo::flat::total(const vector<int>& all) { return 0; }
