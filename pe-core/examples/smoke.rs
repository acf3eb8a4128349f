use pe_core::*; use std::time::Instant;
fn cmp<T:Element>(d:usize,start:u64,rows:usize){
  let e=Sinusoidal::paper(d).unwrap(); let mut a=vec![T::default();rows*d]; let mut b=a.clone(); let mut c=a.clone();
  e.fill_with(Backend::best(),Rungs::Ladder,start,&mut a).unwrap();
  e.fill_with(Backend::best(),Rungs::NarrowUp,start,&mut b).unwrap();
  e.fill_with(Backend::best(),Rungs::FullOnly,start,&mut c).unwrap();
  let n1=a.iter().zip(&b).filter(|(x,y)|x.pattern()!=y.pattern()).count();
  let n2=c.iter().zip(&b).filter(|(x,y)|x.pattern()!=y.pattern()).count();
  println!("{} d={d} start={start} rows={rows}: ladder!=narrow {n1} full!=narrow {n2}",T::NAME);
}
fn time<T:Element>(name:&str,b:Backend,d:usize,rows:usize){
  let e=Sinusoidal::paper(d).unwrap(); let mut a=vec![T::default();rows*d];
  let mut best=f64::MAX; for _ in 0..7{let t=Instant::now(); e.fill_with(b,Rungs::Ladder,0,&mut a).unwrap(); best=best.min(t.elapsed().as_secs_f64());}
  println!("{name} {} {rows}x{d}: {:.3} ms {:.3} ns/entry",T::NAME,best*1e3,best*1e9/(rows*d) as f64);
}
fn main(){
  let e=Sinusoidal::paper(6).unwrap(); println!("{:?} {:?}", e.inv_freq(), e.wavelengths());
  let t=e.table::<f64>(0..3).unwrap(); for r in t.iter_rows(){println!("{r:?}");}
  let w=e.inv_freq(); println!("{:?}", w.iter().map(|w|((2.0*w).sin(),(2.0*w).cos())).collect::<Vec<_>>());
  for (d,s,r) in [(64,0u64,3000usize),(64,(1u64<<32)-3000,3000),(512,100000,300)] { cmp::<f32>(d,s,r);cmp::<f16>(d,s,r);cmp::<bf16>(d,s,r);cmp::<f64>(d,s,r);}
  let t=Instant::now(); for _ in 0..100 {std::hint::black_box(Sinusoidal::paper(512).unwrap());} println!("setup {:.1} us",t.elapsed().as_secs_f64()*1e4);
  for (n,b) in Backend::available(){ time::<f32>(n,b,512,5000);time::<bf16>(n,b,512,5000);time::<f16>(n,b,512,5000);time::<f64>(n,b,512,5000);time::<f32>(n,b,128,131072);time::<f32>(n,b,1024,8192);time::<f32>(n,b,512,1);}
}
