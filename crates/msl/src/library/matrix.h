// Matrices, by columns.
namespace metal {
template <class T, int C, int R> struct matrix {
    typedef __ks_vec_t<T, R> column_type;
    column_type columns[C];
    matrix() = default;
    matrix(const matrix&) = default;
    matrix(const __constant matrix&) = default;
    matrix(const matrix&) __constant = default;
    matrix(const __constant matrix&) __constant = default;
    template <class Q, typename __ks_same<Q, matrix>::type = 0> KS matrix& operator=(const __constant Q& o) { return *this = Q(o); }
    KS explicit matrix(T d) { for (int c = 0; c < C; c++) for (int r = 0; r < R; r++) columns[c][r] = c == r ? d : (T)0; }
    template <class U> KS explicit matrix(const matrix<U, C, R>& m) { for (int c = 0; c < C; c++) for (int r = 0; r < R; r++) columns[c][r] = (T)m.columns[c][r]; }
    KS constexpr matrix(column_type a, column_type b) : columns{a, b} {}
    KS constexpr matrix(column_type a, column_type b, column_type c) : columns{a, b, c} {}
    KS constexpr matrix(column_type a, column_type b, column_type c, column_type d) : columns{a, b, c, d} {}
    // All elements, column by column.
    template <class... A, class = typename enable_if<sizeof...(A) == C * R - 2 && (sizeof...(A) > 2 || C * R == 4)>::type> KS constexpr matrix(T a, T b, A... rest) : matrix(of(__ks_all<C * R>{{a, b, (T)rest...}})) {}
    template <int N> struct __ks_all { T e[N]; };
    KS static constexpr column_type column(const __ks_all<C * R>& a, int at) {
        if constexpr (R == 2) return column_type{a.e[at], a.e[at + 1]};
        else if constexpr (R == 3) return column_type{a.e[at], a.e[at + 1], a.e[at + 2]};
        else return column_type{a.e[at], a.e[at + 1], a.e[at + 2], a.e[at + 3]};
    }
    KS static constexpr matrix of(const __ks_all<C * R>& a) {
        if constexpr (C == 2) return matrix(column(a, 0), column(a, R));
        else if constexpr (C == 3) return matrix(column(a, 0), column(a, R), column(a, 2 * R));
        else return matrix(column(a, 0), column(a, R), column(a, 2 * R), column(a, 3 * R));
    }
    KS __global column_type& operator[](int i) __global& { return columns[i]; }
    KS __local column_type& operator[](int i) __local& { return columns[i]; }
    KS __private column_type& operator[](int i) __private& { return columns[i]; }
    KS const __global column_type& operator[](int i) const __global& { return columns[i]; }
    KS const __local column_type& operator[](int i) const __local& { return columns[i]; }
    KS const __private column_type& operator[](int i) const __private& { return columns[i]; }
    KS const __constant column_type& operator[](int i) const __constant& { return columns[i]; }
    KS column_type operator[](int i) const&& { return columns[i]; }
    KS matrix operator-() const { matrix r; for (int c = 0; c < C; c++) r.columns[c] = -columns[c]; return r; }
    KS matrix& operator+=(matrix m) { for (int c = 0; c < C; c++) columns[c] += m.columns[c]; return *this; }
    KS matrix& operator-=(matrix m) { for (int c = 0; c < C; c++) columns[c] -= m.columns[c]; return *this; }
    KS matrix& operator*=(T s) { for (int c = 0; c < C; c++) columns[c] *= s; return *this; }
    KS friend matrix operator+(matrix a, matrix b) { a += b; return a; }
    KS friend matrix operator-(matrix a, matrix b) { a -= b; return a; }
    KS friend matrix operator*(matrix a, T s) { a *= s; return a; }
    KS friend matrix operator*(T s, matrix a) { a *= s; return a; }
    KS friend column_type operator*(matrix m, __ks_vec_t<T, C> v) { column_type r = m.columns[0] * (T)v[0]; for (int c = 1; c < C; c++) r += m.columns[c] * (T)v[c]; return r; }
    KS friend __ks_vec_t<T, C> operator*(column_type v, matrix m) { __ks_vec_t<T, C> r; for (int c = 0; c < C; c++) { T s = v[0] * m.columns[c][0]; for (int i = 1; i < R; i++) s += v[i] * m.columns[c][i]; r[c] = s; } return r; }
    KS friend bool operator==(matrix a, matrix b) { bool r = true; for (int c = 0; c < C; c++) for (int i = 0; i < R; i++) r &= a.columns[c][i] == b.columns[c][i]; return r; }
    KS friend bool operator!=(matrix a, matrix b) { return !(a == b); }
};
template <class T, int K, int R, int C> KS matrix<T, C, R> operator*(matrix<T, K, R> a, matrix<T, C, K> b) { matrix<T, C, R> r; for (int c = 0; c < C; c++) r.columns[c] = a * b.columns[c]; return r; }
template <class T, int C, int R> KS matrix<T, R, C> transpose(matrix<T, C, R> m) { matrix<T, R, C> r; for (int c = 0; c < C; c++) for (int i = 0; i < R; i++) r.columns[i][c] = m.columns[c][i]; return r; }
template <class T> KS T determinant(matrix<T, 2, 2> m) { return m[0][0] * m[1][1] - m[0][1] * m[1][0]; }
template <class T> KS T determinant(matrix<T, 3, 3> m) { return dot(m.columns[0], cross(m.columns[1], m.columns[2])); }
template <class T> KS T determinant(matrix<T, 4, 4> m) {
    T r = 0;
    for (int c = 0; c < 4; c++) {
        matrix<T, 3, 3> s;
        for (int i = 0, k = 0; i < 4; i++) {
            if (i == c) continue;
            for (int j = 0; j < 3; j++) s.columns[k][j] = m.columns[i][j + 1];
            k++;
        }
        T d = m.columns[c][0] * determinant(s);
        r = c % 2 == 0 ? r + d : r - d;
    }
    return r;
}
}
using metal::matrix;
#define KS_MATRIX(T, C, R) typedef metal::matrix<T, C, R> T##C##x##R;
#define KS_MATRICES(T) KS_MATRIX(T, 2, 2) KS_MATRIX(T, 2, 3) KS_MATRIX(T, 2, 4) KS_MATRIX(T, 3, 2) KS_MATRIX(T, 3, 3) KS_MATRIX(T, 3, 4) KS_MATRIX(T, 4, 2) KS_MATRIX(T, 4, 3) KS_MATRIX(T, 4, 4)
KS_MATRICES(float)
KS_MATRICES(half)
