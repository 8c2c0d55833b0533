// Atomics on device and threadgroup memory.
namespace metal {
template <class T> struct atomic { T __v; };
typedef atomic<int> ks_user_atomic_int;
typedef atomic<uint> ks_user_atomic_uint;
typedef atomic<bool> ks_user_atomic_bool;
typedef atomic<float> ks_user_atomic_float;
typedef atomic<ulong> ks_user_atomic_ulong;
typedef atomic<long> ks_user_atomic_long;

template <int S> struct __ks_word;
template <> struct __ks_word<1> { typedef uchar type; };
template <> struct __ks_word<4> { typedef uint type; };
template <> struct __ks_word<8> { typedef ulong type; };
#define KS_W typename __ks_word<sizeof(T)>::type
#define KS_CAST(x) __builtin_bit_cast(T, x)
#define KS_BITS(x) __builtin_bit_cast(KS_W, x)

#ifdef KS_OLD_ATOMICS
#define KS_LOAD(p) __sync_fetch_and_or(p, 0)
#define KS_STORE(p, v) (void)__sync_lock_test_and_set(p, v)
#define KS_XCHG(p, v, o) __sync_lock_test_and_set(p, v)
#define KS_ADD(p, v, o) __sync_fetch_and_add(p, v)
#define KS_SUB(p, v, o) __sync_fetch_and_sub(p, v)
#define KS_AND(p, v, o) __sync_fetch_and_and(p, v)
#define KS_OR(p, v, o) __sync_fetch_and_or(p, v)
#define KS_XOR(p, v, o) __sync_fetch_and_xor(p, v)
#else
#define KS_LOAD(p) __atomic_load_n(p, 0)
#define KS_STORE(p, v) __atomic_store_n(p, v, 0)
#define KS_XCHG(p, v, o) __atomic_exchange_n(p, v, 0)
#define KS_ADD(p, v, o) __atomic_fetch_add(p, v, 0)
#define KS_SUB(p, v, o) __atomic_fetch_sub(p, v, 0)
#define KS_AND(p, v, o) __atomic_fetch_and(p, v, 0)
#define KS_OR(p, v, o) __atomic_fetch_or(p, v, 0)
#define KS_XOR(p, v, o) __atomic_fetch_xor(p, v, 0)
#endif

#define KS_ATOMIC(SPACE) \
    template <class T> KS T __ks_cas(SPACE T* q, T e, T d) { \
        return KS_CAST(__sync_val_compare_and_swap((SPACE KS_W*)q, KS_BITS(e), KS_BITS(d))); \
    } \
    template <class T> KS T atomic_load_explicit(const volatile SPACE atomic<T>* p, memory_order) { return KS_CAST(KS_LOAD((SPACE KS_W*)p)); } \
    template <class T> KS void atomic_store_explicit(volatile SPACE atomic<T>* p, decltype(T()) v, memory_order) { KS_STORE((SPACE KS_W*)p, KS_BITS(v)); } \
    template <class T> KS T atomic_exchange_explicit(volatile SPACE atomic<T>* p, decltype(T()) v, memory_order) { return KS_CAST(KS_XCHG((SPACE KS_W*)p, KS_BITS(v), 0)); } \
    template <class T> KS bool atomic_compare_exchange_weak_explicit(volatile SPACE atomic<T>* p, __private T* e, decltype(T()) d, memory_order, memory_order) { \
        T was = *e; \
        T old = __ks_cas((SPACE T*)p, was, d); \
        bool ok = KS_BITS(old) == KS_BITS(was); \
        *e = old; \
        return ok; \
    } \
    template <class T> KS bool atomic_compare_exchange_weak_explicit(volatile SPACE atomic<T>* p, __private T& e, decltype(T()) d, memory_order a, memory_order b) { return atomic_compare_exchange_weak_explicit(p, &e, d, a, b); } \
    template <class T> KS T atomic_fetch_add_explicit(volatile SPACE atomic<T>* p, decltype(T()) v, memory_order) { \
        if constexpr (T(0.5f) != T(0)) return KS_FADD((SPACE T*)p, v); \
        else return (T)KS_ADD((SPACE T*)p, v, 0); \
    } \
    template <class T> KS T atomic_fetch_sub_explicit(volatile SPACE atomic<T>* p, decltype(T()) v, memory_order) { \
        if constexpr (T(0.5f) != T(0)) return KS_FADD((SPACE T*)p, -v); \
        else return (T)KS_SUB((SPACE T*)p, v, 0); \
    } \
    template <class T> KS T atomic_fetch_and_explicit(volatile SPACE atomic<T>* p, decltype(T()) v, memory_order) { return (T)KS_AND((SPACE T*)p, v, 0); } \
    template <class T> KS T atomic_fetch_or_explicit(volatile SPACE atomic<T>* p, decltype(T()) v, memory_order) { return (T)KS_OR((SPACE T*)p, v, 0); } \
    template <class T> KS T atomic_fetch_xor_explicit(volatile SPACE atomic<T>* p, decltype(T()) v, memory_order) { return (T)KS_XOR((SPACE T*)p, v, 0); } \
    KS int atomic_fetch_min_explicit(volatile SPACE ks_user_atomic_int* p, int v, memory_order) { return KS_MIN((SPACE int*)p, v); } \
    KS uint atomic_fetch_min_explicit(volatile SPACE ks_user_atomic_uint* p, uint v, memory_order) { return KS_UMIN((SPACE uint*)p, v); } \
    KS int atomic_fetch_max_explicit(volatile SPACE ks_user_atomic_int* p, int v, memory_order) { return KS_MAX((SPACE int*)p, v); } \
    KS uint atomic_fetch_max_explicit(volatile SPACE ks_user_atomic_uint* p, uint v, memory_order) { return KS_UMAX((SPACE uint*)p, v); } \
    KS void atomic_min_explicit(volatile SPACE ks_user_atomic_ulong* p, ulong v, memory_order) { KS_ULMIN((SPACE ulong*)p, v); } \
    KS void atomic_max_explicit(volatile SPACE ks_user_atomic_ulong* p, ulong v, memory_order) { KS_ULMAX((SPACE ulong*)p, v); }
#ifdef KS_OLD_ATOMICS
// A loop of compare-and-swap, as these compilers would call a library for anything else.
#define KS_FADD(p, v) __ks_fadd(p, v)
#define KS_MIN(p, v) __sync_fetch_and_min(p, v)
#define KS_MAX(p, v) __sync_fetch_and_max(p, v)
#define KS_UMIN(p, v) __sync_fetch_and_umin(p, v)
#define KS_UMAX(p, v) __sync_fetch_and_umax(p, v)
#define KS_FADD_LOOP(SPACE) \
    template <class T> KS T __ks_fadd(SPACE T* q, T v) { \
        typedef KS_W W; \
        W old = KS_LOAD((SPACE W*)q), was; \
        do { was = old; old = __sync_val_compare_and_swap((SPACE W*)q, was, __builtin_bit_cast(W, (T)(KS_CAST(was) + v))); } while (old != was); \
        return KS_CAST(old); \
    } \
    KS void __ks_minmax(SPACE ulong* q, ulong v, bool up) { \
        ulong old = KS_LOAD(q), was; \
        do { was = old; ulong n = (up ? was < v : v < was) ? v : was; old = __sync_val_compare_and_swap(q, was, n); } while (old != was); \
    }
KS_FADD_LOOP(__global)
KS_FADD_LOOP(__local)
#undef KS_FADD_LOOP
#define KS_ULMIN(p, v) __ks_minmax(p, v, false)
#define KS_ULMAX(p, v) __ks_minmax(p, v, true)
#else
#define KS_FADD(p, v) __atomic_fetch_add(p, v, 0)
#define KS_MIN(p, v) __atomic_fetch_min(p, v, 0)
#define KS_MAX(p, v) __atomic_fetch_max(p, v, 0)
#define KS_UMIN(p, v) __atomic_fetch_min(p, v, 0)
#define KS_UMAX(p, v) __atomic_fetch_max(p, v, 0)
#define KS_ULMIN(p, v) (void)__atomic_fetch_min(p, v, 0)
#define KS_ULMAX(p, v) (void)__atomic_fetch_max(p, v, 0)
#endif
KS_ATOMIC(__global)
KS_ATOMIC(__local)
#undef KS_ATOMIC
}
