// <metal_limits>, <metal_type_traits> and <metal_array>: what the type system itself can answer.
namespace metal {
template <class T> struct __ks_strip { typedef T type; };
#define KS_STRIP(Q) template <class T> struct __ks_strip<Q T> { typedef T type; };
KS_STRIP(__global)
KS_STRIP(__local)
KS_STRIP(__private)
KS_STRIP(__constant)
KS_STRIP(const)
KS_STRIP(volatile)
KS_STRIP(const volatile)
KS_STRIP(const __global)
KS_STRIP(const __local)
KS_STRIP(const __private)
KS_STRIP(const __constant)
KS_STRIP(volatile __global)
KS_STRIP(volatile __local)
KS_STRIP(const volatile __global)
KS_STRIP(const volatile __local)
#undef KS_STRIP

template <class T, T V> struct integral_constant {
    static constexpr __constant T value = V;
    typedef T value_type;
    typedef integral_constant type;
    KS constexpr operator T() const { return V; }
    KS constexpr T operator()() const { return V; }
};
template <bool B> using bool_constant = integral_constant<bool, B>;
typedef bool_constant<true> true_type;
typedef bool_constant<false> false_type;
template <class A, class B> struct is_same : false_type {};
template <class A> struct is_same<A, A> : true_type {};
template <class A, class B> constexpr __constant bool is_same_v = is_same<A, B>::value;
template <bool B, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { typedef T type; };
template <bool B, class T = void> using enable_if_t = typename enable_if<B, T>::type;
template <bool B, class T, class F> struct conditional { typedef T type; };
template <class T, class F> struct conditional<false, T, F> { typedef F type; };
template <bool B, class T, class F> using conditional_t = typename conditional<B, T, F>::type;
template <class T> struct remove_const { typedef T type; };
template <class T> struct remove_const<const T> { typedef T type; };
template <class T> struct remove_volatile { typedef T type; };
template <class T> struct remove_volatile<volatile T> { typedef T type; };
template <class T> struct remove_cv { typedef typename __ks_strip<T>::type type; };
template <class T> struct remove_reference { typedef T type; };
template <class T> struct remove_reference<T&> { typedef T type; };
template <class T> struct remove_reference<__global T&> { typedef T type; };
template <class T> struct remove_reference<__local T&> { typedef T type; };
template <class T> struct remove_reference<__private T&> { typedef T type; };
template <class T> struct remove_reference<__constant T&> { typedef T type; };
template <class T> struct remove_pointer { typedef T type; };
template <class T> struct remove_pointer<__global T*> { typedef T type; };
template <class T> struct remove_pointer<__local T*> { typedef T type; };
template <class T> struct remove_pointer<__private T*> { typedef T type; };
template <class T> struct remove_pointer<__constant T*> { typedef T type; };
template <class T> struct remove_extent { typedef T type; };
template <class T, size_t N> struct remove_extent<T[N]> { typedef T type; };
template <class T> struct decay { typedef typename __ks_strip<typename remove_reference<T>::type>::type type; };
template <class T> struct remove_addrspace { typedef T type; };
#define KS_SPACE(Q) template <class T> struct remove_addrspace<Q T> { typedef T type; }; template <class T> struct remove_addrspace<const Q T> { typedef const T type; };
KS_SPACE(__global)
KS_SPACE(__local)
KS_SPACE(__private)
KS_SPACE(__constant)
#undef KS_SPACE
template <class T> using remove_addrspace_t = typename remove_addrspace<T>::type;
template <class T> using remove_const_t = typename remove_const<T>::type;
template <class T> using remove_cv_t = typename remove_cv<T>::type;
template <class T> using remove_reference_t = typename remove_reference<T>::type;
template <class T> using remove_pointer_t = typename remove_pointer<T>::type;
template <class T> using remove_extent_t = typename remove_extent<T>::type;
template <class T> using decay_t = typename decay<T>::type;
template <class T> struct add_const { typedef const T type; };
template <class T> using add_const_t = const T;
template <class...> struct conjunction : true_type {};
template <class A> struct conjunction<A> : A {};
template <class A, class... B> struct conjunction<A, B...> : conditional_t<bool(A::value), conjunction<B...>, A> {};
template <class...> struct disjunction : false_type {};
template <class A> struct disjunction<A> : A {};
template <class A, class... B> struct disjunction<A, B...> : conditional_t<bool(A::value), A, disjunction<B...>> {};
template <class... B> struct _disjunction : disjunction<B...> {};
template <class... B> struct _conjunction : conjunction<B...> {};
template <class A> struct negation : bool_constant<!bool(A::value)> {};

template <class T> struct __ks_kind { static constexpr int value = 0; };
#define KS_KIND(T, K) template <> struct __ks_kind<T> { static constexpr int value = K; };
KS_KIND(bool, 1)
KS_KIND(char, 3)
KS_KIND(signed char, 3)
KS_KIND(short, 3)
KS_KIND(int, 3)
KS_KIND(long, 3)
KS_KIND(uchar, 1)
KS_KIND(ushort, 1)
KS_KIND(uint, 1)
KS_KIND(ulong, 1)
KS_KIND(half, 6)
KS_KIND(float, 6)
KS_KIND(bfloat, 6)
KS_DBL(KS_KIND(double, 6))
#define KS_TRAIT(name, expr) \
    template <class Q> struct name { typedef typename __ks_strip<Q>::type T; static constexpr __constant bool value = expr; typedef bool_constant<expr> type; KS constexpr operator bool() const { return expr; } }; \
    template <class Q> constexpr __constant bool name##_v = name<Q>::value;
KS_TRAIT(is_integral, (__ks_kind<T>::value & 1) != 0)
KS_TRAIT(is_signed, (__ks_kind<T>::value & 2) != 0)
KS_TRAIT(is_floating_point, (__ks_kind<T>::value & 4) != 0)
KS_TRAIT(is_unsigned, __ks_kind<T>::value == 1)
KS_TRAIT(is_arithmetic, __ks_kind<T>::value != 0)
KS_TRAIT(is_scalar, __ks_kind<T>::value != 0)
KS_TRAIT(is_vector, (__ks_vt<T>::n > 0))
KS_TRAIT(is_class, __is_class(T))
KS_TRAIT(is_enum, __is_enum(T))
KS_TRAIT(is_union, __is_union(T))
KS_TRAIT(is_trivially_copyable, __is_trivially_copyable(T))
template <class T> struct is_pointer : false_type {};
template <class T> struct is_pointer<__global T*> : true_type {};
template <class T> struct is_pointer<__local T*> : true_type {};
template <class T> struct is_pointer<__private T*> : true_type {};
template <class T> struct is_pointer<__constant T*> : true_type {};
template <class T> constexpr __constant bool is_pointer_v = is_pointer<T>::value;
template <class T> struct is_reference : false_type {};
template <class T> struct is_reference<T&> : true_type {};
template <class T> struct is_void : is_same<typename __ks_strip<T>::type, void> {};
template <class T> constexpr __constant bool is_void_v = is_void<T>::value;
template <class T> struct is_const : false_type {};
template <class T> struct is_const<const T> : true_type {};
template <class A, class B> struct is_base_of : bool_constant<__is_base_of(A, B)> {};
template <class A, class B> struct is_convertible : bool_constant<__is_convertible_to(A, B)> {};
template <class A, class B> constexpr __constant bool is_convertible_v = is_convertible<A, B>::value;
template <class T> struct underlying_type { typedef __underlying_type(T) type; };
template <class T> struct make_unsigned { typedef T type; };
template <> struct make_unsigned<char> { typedef uchar type; };
template <> struct make_unsigned<short> { typedef ushort type; };
template <> struct make_unsigned<int> { typedef uint type; };
template <> struct make_unsigned<long> { typedef ulong type; };
template <class T> struct make_signed { typedef T type; };
template <> struct make_signed<uchar> { typedef char type; };
template <> struct make_signed<ushort> { typedef short type; };
template <> struct make_signed<uint> { typedef int type; };
template <> struct make_signed<ulong> { typedef long type; };
template <class T> using make_unsigned_t = typename make_unsigned<T>::type;
template <class T> using make_signed_t = typename make_signed<T>::type;
template <class T> struct make_scalar { typedef typename __ks_vt<T>::e type; };
template <class T> using make_scalar_t = typename make_scalar<T>::type;

template <class T> struct _numeric_limits_impl { static constexpr __constant bool is_specialized = false; };
template <class T> struct numeric_limits : _numeric_limits_impl<T> {};
template <class T> struct __is_valid_simdgroup_type : bool_constant<sizeof(typename __ks_vt<T>::e) < 8 && __ks_kind<typename __ks_vt<T>::e>::value != 0 && !is_same<T, bool>::value && !is_same<T, bfloat>::value> {};
#define KS_LIM_COMMON(T, LO, HI, INF, NANV, SGN, INT, EXACT, DIG) \
    static constexpr __constant bool is_specialized = true; \
    static constexpr __constant bool is_signed = SGN; \
    static constexpr __constant bool is_integer = INT; \
    static constexpr __constant bool is_exact = EXACT; \
    static constexpr __constant bool has_infinity = !INT; \
    static constexpr __constant bool has_quiet_NaN = !INT; \
    static constexpr __constant int digits = DIG; \
    static constexpr __constant int digits10 = (int)(DIG * 0.30103f); \
    KS static constexpr T max() { return HI; } \
    KS static constexpr T lowest() { return LO; } \
    KS static constexpr T infinity() { return INF; } \
    KS static constexpr T quiet_NaN() { return NANV; } \
    KS static constexpr T signaling_NaN() { return NANV; }
#define KS_LIM_INT(T, LO, HI, SGN, DIG) \
    template <> struct _numeric_limits_impl<T> { \
        KS_LIM_COMMON(T, LO, HI, (T)0, (T)0, SGN, true, true, DIG) \
        KS static constexpr T min() { return LO; } \
        KS static constexpr T epsilon() { return (T)0; } \
    };
KS_LIM_INT(bool, false, true, false, 1)
KS_LIM_INT(char, -128, 127, true, 7)
KS_LIM_INT(signed char, -128, 127, true, 7)
KS_LIM_INT(uchar, 0, 255, false, 8)
KS_LIM_INT(short, -32768, 32767, true, 15)
KS_LIM_INT(ushort, 0, 65535, false, 16)
KS_LIM_INT(int, (-2147483647 - 1), 2147483647, true, 31)
KS_LIM_INT(uint, 0, 0xffffffffu, false, 32)
KS_LIM_INT(long, (-0x7fffffffffffffffL - 1), 0x7fffffffffffffffL, true, 63)
KS_LIM_INT(ulong, 0, 0xffffffffffffffffUL, false, 64)
#define KS_LIM_FLOAT(T, HI, MIN, EPS, DENORM, DIG, MAXE, MINE, MAX10) \
    template <> struct _numeric_limits_impl<T> { \
        KS_LIM_COMMON(T, -(T)(HI), (T)(HI), (T)__builtin_huge_valf(), (T)__builtin_nanf(""), true, false, false, DIG) \
        KS static constexpr T min() { return (T)(MIN); } \
        KS static constexpr T epsilon() { return (T)(EPS); } \
        KS static constexpr T denorm_min() { return (T)(DENORM); } \
        KS static constexpr T round_error() { return (T)0.5f; } \
        static constexpr __constant int max_exponent = MAXE; \
        static constexpr __constant int min_exponent = MINE; \
        static constexpr __constant int max_exponent10 = MAX10; \
        static constexpr __constant int radix = 2; \
    };
KS_LIM_FLOAT(float, 0x1.fffffep127f, 0x1p-126f, 0x1p-23f, 0x1p-149f, 24, 128, -125, 38)
KS_LIM_FLOAT(half, 0x1.ffcp15f, 0x1p-14f, 0x1p-10f, 0x1p-24f, 11, 16, -13, 4)
KS_DBL(KS_LIM_FLOAT(double, 0x1.fffffffffffffp1023, 0x1p-1022, 0x1p-52, 0x1p-1074, 53, 1024, -1021, 308))

template <> struct _numeric_limits_impl<bfloat> {
    static constexpr __constant bool is_specialized = true;
    static constexpr __constant bool is_signed = true;
    static constexpr __constant bool is_integer = false;
    static constexpr __constant bool has_infinity = true;
    static constexpr __constant bool has_quiet_NaN = true;
    static constexpr __constant int digits = 8;
    static constexpr __constant int max_exponent = 128;
    KS static constexpr bfloat __of(ushort bits) { return __builtin_bit_cast(bfloat, bits); }
    KS static constexpr bfloat max() { return __of(0x7f7f); }
    KS static constexpr bfloat lowest() { return __of(0xff7f); }
    KS static constexpr bfloat min() { return __of(0x0080); }
    KS static constexpr bfloat epsilon() { return __of(0x3c00); }
    KS static constexpr bfloat infinity() { return __of(0x7f80); }
    KS static constexpr bfloat quiet_NaN() { return __of(0x7fc0); }
    KS static constexpr bfloat denorm_min() { return __of(0x0001); }
};

template <class T, size_t N> struct array {
    T __elems[N];
    KS constexpr size_t size() const { return N; }
    KS constexpr bool empty() const { return N == 0; }
    KS constexpr T& operator[](size_t i) { return __elems[i]; }
    KS constexpr const T& operator[](size_t i) const { return __elems[i]; }
    KS constexpr const __constant T& operator[](size_t i) const __constant { return __elems[i]; }
    KS constexpr size_t size() const __constant { return N; }
};
template <class T> using uniform = T;
template <class T> KS constexpr T make_uniform(T v) { return v; }
template <class A, class B> struct pair { A first; B second; };
}
