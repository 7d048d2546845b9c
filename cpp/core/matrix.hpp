// Views of row-major matrices and cache-line-aligned storage.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace lowfold {

/// A row-major matrix that somebody else owns.
template <class T>
struct MatrixView {
    T* data = nullptr;
    std::size_t rows = 0, columns = 0;

    T* row(std::size_t i) const { return data + i * columns; }
};

inline constexpr std::size_t CACHE_LINE = 64;  // also the width of the widest vector register

template <class T>
struct AlignedAllocator {
    using value_type = T;
    AlignedAllocator() = default;
    template <class U>
    AlignedAllocator(const AlignedAllocator<U>&) {}
    T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t(CACHE_LINE))); }
    void deallocate(T* pointer, std::size_t) { ::operator delete(pointer, std::align_val_t(CACHE_LINE)); }
    /// Elements start uninitialised: every buffer here is written before it is read.
    template <class U>
    void construct(U* pointer) {
        ::new (static_cast<void*>(pointer)) U;
    }
    template <class U, class... Arguments>
    void construct(U* pointer, Arguments&&... arguments) {
        ::new (static_cast<void*>(pointer)) U(static_cast<Arguments&&>(arguments)...);
    }
    bool operator==(const AlignedAllocator&) const { return true; }
};

template <class T>
using Buffer = std::vector<T, AlignedAllocator<T>>;

}  // namespace lowfold
