// Views of row-major matrices and cache-line-aligned storage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace lowfold {

/// A row-major matrix that somebody else owns.
template <class T>
struct MatrixView {
    T* data = nullptr;
    std::size_t rows = 0, columns = 0;

    T* row(std::size_t i) const { return data + i * columns; }
};

inline constexpr std::size_t CACHE_LINE = 64;  // also the width of the widest vector register

/// Uninitialised memory, to be given back with std::free. Large pieces ask for large pages: rows picked from all over a
/// matrix of a million rows miss the table of small ones at nearly every pick. Smaller ones are used again by the
/// allocator, page faults and all; those above are fresh every time.
inline void* acquire(std::size_t bytes) {
    constexpr std::size_t LARGE_PAGE = std::size_t{2} << 20;
    const std::size_t alignment = bytes >= 16 * LARGE_PAGE ? LARGE_PAGE : CACHE_LINE;
    if (bytes > PTRDIFF_MAX - 2 * LARGE_PAGE) throw std::bad_alloc();
    const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    void* pointer = std::aligned_alloc(alignment, rounded ? rounded : alignment);
    if (!pointer) throw std::bad_alloc();
#ifdef __linux__
    if (alignment == LARGE_PAGE) ::madvise(pointer, rounded, MADV_HUGEPAGE);  // advice: without it, it works as well
#endif
    return pointer;
}

template <class T>
struct AlignedAllocator {
    using value_type = T;
    AlignedAllocator() = default;
    template <class U>
    AlignedAllocator(const AlignedAllocator<U>&) {}
    T* allocate(std::size_t n) { return static_cast<T*>(acquire(n * sizeof(T))); }
    void deallocate(T* pointer, std::size_t) { std::free(pointer); }
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
